package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// rendered returns the parts that differ between renderings, as "object path".
func rendered(t *testing.T, chart string) (Result, []string) {
	t.Helper()
	res, err := new(Charts).Release(t.Context(), cluster, releaseOf(t, ""), chartOf(chart), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range res.Nondeterministic {
		if v.Object >= 0 && res.Objects[v.Object].ID() != v.ID {
			t.Errorf("object %d is %s, not %s", v.Object, res.Objects[v.Object].ID(), v.ID)
		}
		got = append(got, fmt.Sprintf("%d %s %s", v.Object, v.ID, strings.Join(v.Path, ".")))
	}
	return res, got
}

// TestNondeterministicFunctions calls every function that is random or reads
// the clock, and some that are not.
func TestNondeterministicFunctions(t *testing.T) {
	for expr, volatile := range map[string]bool{
		`randAlphaNum 8`: true, `randAlpha 1`: true, `randNumeric 1`: true, `randAscii 5 | b64enc`: true, `randBytes 4`: true,
		`randInt 0 2`: true, `randInt 0 1`: false, `shuffle "ab"`: true, `shuffle "aa"`: false, `uuidv4`: true, `randAlphaNum 0`: false,
		`bcrypt "x"`: true, `htpasswd "a" "b"`: true, `encryptAES "k" "x"`: true, `derivePassword 1 "pin" "a" "b" "c"`: false,
		`genPrivateKey "ecdsa"`: true, `(genCA "a" 1).Cert`: true, `(genSelfSignedCert "a" nil nil 1).Key`: true,
		`(genSignedCert "a" nil nil 1 (genCA "a" 1)).Cert`:        true,
		`(genCAWithKey "a" 1 (genPrivateKey "ed25519")).Cert`:     true,
		`(genSelfSignedCertWithKey "a" nil nil 1 .Values.k).Cert`: true,
		`now | unixEpoch`: true, `now | date "2006"`: true, `now | date "01"`: true, `now | date "02"`: true, `now | date "15"`: true, `now | date "04"`: true, `now | date "05"`: true, `now | date "Mon"`: true,
		`date "2006" "no time"`: true, `htmlDate nil`: true, `htmlDateInZone nil "UTC"`: true, `dateInZone "2006" "" "UTC"`: true,
		`ago 0`: true, `ago "no time"`: false, `durationRound (toDate "2006" "2020")`: true, `durationRound "1h"`: false,
		`now.Year`: true, `now | date_modify "1h" | unixEpoch`: true,
		`date "2006" 0`: false, `toDate "2006" "2020" | date "2006"`: false, `sha256sum "x"`: false, `lookup "v1" "Pod" "" "" | len`: false,
		`ternary (randAlphaNum 5) "x" false`: false, `randAlphaNum 20 | len`: false, `now | kindOf`: false,
		`keys (dict "a" 1 "b" 2 "c" 3 "d" 4) | join ","`: false, `values (dict "a" 1 "b" 2 "c" 3 "d" 4) | join ","`: false,
		`printf "%v" .Chart.Maintainers`: true, // addresses
	} {
		res, got := rendered(t, `
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, maintainers: [{name: a}, {name: b}]}
-- values.yaml --
k: |
  -----BEGIN PRIVATE KEY-----
  MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f
  -----END PRIVATE KEY-----
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: `+"{{ "+expr+" | quote }}, y: same}}")
		want := []string{"0 ConfigMap a data.x"}
		if !volatile {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v, in %v", expr, got, want, res.Objects[0].Object)
		}
	}
}

func TestNondeterministic(t *testing.T) {
	for _, test := range []struct{ name, template, want string }{
		{"fields, and what is computed of them", `
{{ $pw := randAlphaNum 16 }}
{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {x: y}}, data: {a: {{ $pw | b64enc }}, b: eA==}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, annotations: {sum: {{ sha256sum $pw }}}}, spec: {template: {spec: {containers: [{name: a}, {name: b, args: [x, {{ $pw | quote }}]}]}}}}`, `
0 Secret a data.a
1 Deployment.apps b metadata.annotations.sum
1 Deployment.apps b spec.template.spec.containers.1.args.1`},
		{"lists of another length, fields that come and go, other types", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, l: {{ list 1 2 | toJson }}, data: {
l: {{ if mod now.Year 2 }}[1]{{ else }}[1, 2]{{ end }}, m: {{ if mod now.Year 2 }}{x: 1}{{ else }}[1]{{ end }},
{{ if mod now.Year 2 }}odd: 1{{ else }}even: 1{{ end }}}}`, `
0 ConfigMap a data.even
0 ConfigMap a data.l
0 ConfigMap a data.m
0 ConfigMap a data.odd`},
		{"names", `
{apiVersion: batch/v1, kind: Job, metadata: {name: fixed}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: job-{{ randAlpha 8 | lower }}}, spec: {x: 1}}`, `
1 Job.batch * metadata.name`},
		{"objects that come and go", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{{ if mod now.Year 2 }}
{apiVersion: v1, kind: Secret, metadata: {name: odd, namespace: x}}
{{ else }}
{apiVersion: v1, kind: Service, metadata: {name: even}}
{{ end }}`, `
1 Secret x/odd
1 Service even`},
		{"order within a kind", `
{{ range (shuffle "ab" | splitList "") }}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ . }}}, x: 1}
{{ end }}`, ""},
		{"what the first rendering changed", `
{{ $t := now }}{{ $_ := set .Values "n" (add1 (default 0 .Values.n)) }}{{ $_ := set .Release "y" (cat .Release.y "y") }}
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {n: {{ .Values.n }}, y: {{ .Release.y | quote }}}}`, ""},
		{"what one template leaves for another", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {word: {{ .Values.word }}, time: {{ .left }}}}
-- templates/b.yaml --
{{ $_ := set .Values "word" (randAlphaNum 8) }}{{ $_ := set . "left" now.Year }}`, `
0 ConfigMap a data.time
0 ConfigMap a data.word`},
		{"templates beside those with something random", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {word: {{ .Values.missing | default "same" }}}}
-- templates/b.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {word: {{ uuidv4 }}}}
-- templates/c.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {word: {{ add 1 2 }}}}`, `
1 ConfigMap b data.word`},
		{"hooks that are not rendered", `
{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {helm.sh/hook: pre-delete}}, spec: {x: {{ uuidv4 }}}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			res, got := rendered(t, "-- templates/a.yaml --\n"+test.template)
			for n, line := range got {
				for _, o := range res.Objects {
					if strings.HasPrefix(o.GetName(), "job-") {
						line = strings.ReplaceAll(line, o.GetName(), "*")
					}
				}
				if i, rest, _ := strings.Cut(line, " "); strings.HasSuffix(rest, " ") {
					line = strings.ReplaceAll(i, "-1", "1") + " " + strings.TrimSpace(rest) // the year decides which of the two exists
				}
				got[n] = line
			}
			slices.Sort(got)
			text := "\n" + strings.Join(got, "\n")
			if text != test.want && text != "\n"+test.want {
				t.Errorf("got:%s\nwant:%s", text, test.want)
			}
		})
	}
}

// TestNondeterministicFault checks a chart that only renders in the first
// rendering.
func TestNondeterministicFault(t *testing.T) {
	ch := chartOf(`
-- templates/a.yaml --
{{ if gt now.Year (int .Values.year) }}{{ fail "too late" }}{{ end }}`)
	year := clock((&Charts{}).source(ch)).Year()
	_, err := new(Charts).Release(t.Context(), cluster, releaseOf(t, fmt.Sprintf("year: %d", year)), ch, nil)
	const want = "fleet.cue:3:2: releases.rel: in some renderings, chart charts/app does not render: app/templates/a.yaml:1:42: too late"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestDifferences compares objects that occur twice, and in another order.
func TestDifferences(t *testing.T) {
	objects := func(names ...string) (out []fleet.Object) {
		for i, n := range names {
			out = append(out, fleet.Object{Template: "t", Unstructured: &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": n}, "n": int64(i),
			}}})
		}
		return out
	}
	for _, test := range []struct {
		first, second []fleet.Object
		want          string
	}{
		{objects("a", "b"), objects("a", "b"), ""},
		{objects("a", "a"), objects("a", "a"), ""},
		{objects("a", "b"), objects("b", "a"), "0 n, 1 n"},
		{objects("a", "a"), objects("a"), "1"},
		{objects("a"), objects("a", "x", "y"), "-1, -1"},
		{objects("a", "b"), objects("x", "y"), "0 metadata.name, 1 metadata.name"},
		{objects("a", "b"), objects("x", "b"), "0 metadata.name"},
	} {
		var got []string
		for _, v := range Differences(test.first, test.second) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s", v.Object, strings.Join(v.Path, "."))))
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%v, want %s", got, test.want)
		}
	}
}
