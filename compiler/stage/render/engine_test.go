package render

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	helmengine "helm.sh/helm/v3/pkg/engine"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// engines renders a chart with our engine and with Helm's, and returns the
// files or the errors.
func engines(t testing.TB, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart) (ours, helms map[string]string, ourErr, helmErr error) {
	t.Helper()
	s := new(Charts).source(ch)
	if s.err != nil {
		t.Fatal(s.err)
	}
	caps, err := capabilities(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	user, _ := r.Values.Value().(map[string]any)
	mine, its := instance(s.chart), instance(s.chart)
	myValues, _, err := templateValues(mine, r, user, caps)
	if err != nil {
		t.Fatal(err)
	}
	itsValues, _, err := helmValues(its, r, user, caps)
	if err != nil {
		t.Fatal(err)
	}
	all := renderables(mine, myValues)
	e, ourErr := s.engine(t.Context(), new(Charts).limits(), newEntropy(clock(s)), all)
	if ourErr == nil {
		var pages map[string]page
		pages, ourErr = e.render(all, nil, nil)
		ours = textsOf(pages)
	}
	helms, helmErr = helmengine.Engine{}.Render(its, itsValues)
	return ours, helms, ourErr, helmErr
}

// textsOf returns the texts of pages.
func textsOf(pages map[string]page) map[string]string {
	out := map[string]string{}
	for name, p := range pages {
		out[name] = p.text
	}
	return out
}

// sameEngines reports differences between the two engines.
func sameEngines(t testing.TB, c *fleet.Cluster, r *fleet.Release, ch *fleet.Chart) {
	t.Helper()
	ours, helms, ourErr, helmErr := engines(t, c, r, ch)
	if (ourErr == nil) != (helmErr == nil) {
		t.Errorf("ours: %v\nHelm's: %v", ourErr, helmErr)
		return
	}
	if ourErr != nil {
		if want := withoutPrefix(helmErr); ourErr.Error() != want {
			t.Errorf("ours:\n%v\nHelm's:\n%v", ourErr, want)
		}
		return
	}
	if a, b := slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(helms)); !slices.Equal(a, b) {
		t.Errorf("files %v, Helm's %v", a, b)
	}
	for name, text := range ours {
		for range renderings {
			if text == helms[name] {
				break
			}
			_, again, _, _ := engines(t, c, r, ch)
			text = maskRandom(text, helms[name], again[name])
		}
		if text != helms[name] {
			t.Errorf("%s: %s", name, firstDifference(text, helms[name]))
		}
	}
}

// renderings is how often Helm renders a chart again to find nondeterministic lines: a map
// of two keys has the same order in half of all loops.
const renderings = 20

// maskRandom returns text with the lines of its that differ in another rendering, other.
func maskRandom(text, its, other string) string {
	mine, lines, others := strings.Split(text, "\n"), strings.Split(its, "\n"), strings.Split(other, "\n")
	for i := range min(len(mine), len(lines), len(others)) {
		if lines[i] != others[i] {
			mine[i] = lines[i]
		}
	}
	return strings.Join(mine, "\n")
}

// withoutPrefix returns the message of Helm's engine without the words that faults
// repeat anyway.
func withoutPrefix(err error) string {
	msg := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "execution error at "), "template: ")
	if rest, ok := strings.CutPrefix(msg, "("); ok {
		if at, what, ok := strings.Cut(rest, "): "); ok {
			msg = at + ": " + what
		}
	}
	return shorten(msg)
}

// aChart has dependencies with and without an alias, a library, redefined
// templates, and state that one template leaves for the next.
const aChart = `
-- Chart.yaml --
apiVersion: v2
name: app
version: 1.2.3
appVersion: "4"
keywords: [b, a]
annotations: {z: "1"}
dependencies:
- {name: sub, version: 1.0.0, alias: one, import-values: [data]}
- {name: sub, version: 1.0.0, alias: two}
- {name: idle, version: 1.0.0, condition: idle.enabled}
- {name: lib, version: 1.0.0}
-- values.yaml --
idle: {enabled: false}
text: '{{ .Values.name }}'
name: word
nested: '{{ tpl .Values.text . }}'
number: 1000000
list: [1, b, {c: d}]
empty: {}
null_: null
-- config/a.txt --
one
two
-- config/b.yaml --
x: {{ not a template }}
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0}
-- charts/sub/values.yaml --
exports: {data: {imported: yes}}
own: 1
-- charts/sub/templates/_a.tpl --
{{ define "shared" }}sub{{ end }}{{ define "sub.only" }}{{ .Chart.Name }} {{ .Values.own }}{{ end }}
-- charts/sub/templates/x.yaml --
{{ .Template.Name }} {{ .Template.BasePath }} {{ .Chart.Name }} {{ .Chart.IsRoot }} {{ include "shared" . }} {{ include "lib.x" . }} {{ .Values }}
-- charts/idle/Chart.yaml --
{apiVersion: v2, name: idle, version: 1.0.0}
-- charts/idle/templates/x.yaml --
{{ if }}
-- charts/lib/Chart.yaml --
{apiVersion: v2, name: lib, version: 1.0.0, type: library}
-- charts/lib/templates/_x.tpl --
{{ define "lib.x" }}lib {{ .Release.Name }}{{ end }}{{ define "shared" }} {{ end }}
-- charts/lib/templates/never.yaml --
{{ fail "a library renders nothing" }}
-- charts/undeclared/Chart.yaml --
{apiVersion: v2, name: undeclared, version: 1.0.0}
-- charts/undeclared/templates/x.yaml --
{{ .Chart.Name }}
-- templates/_helpers.tpl --
{{ define "shared" }}app{{ end }}
{{ define "list" }}{{ range . }}[{{ . }}]{{ else }}none{{ end }}{{ end }}
-- templates/b.yaml --
{{ $_ := set . "left" "behind" }}{{ include "shared" . }}
-- templates/NOTES.txt --
{{ .left }}
-- templates/a.yaml --
{{ .left }}
`

// TestSameAsEngine compares both engines on templates that are likely to
// differ.
func TestSameAsEngine(t *testing.T) {
	zone := time.Local
	time.Local = time.UTC // our engine always uses UTC
	t.Cleanup(func() { time.Local = zone })
	for _, template := range engineTemplates() {
		t.Run("", func(t *testing.T) {
			ch := chartOf(aChart + "-- templates/test.yaml --\n" + template + "\n")
			sameEngines(t, cluster, releaseOf(t, "one: {own: 2}"), ch)
			if t.Failed() {
				t.Log(template)
			}
		})
	}
}

// engineTemplates returns templates that engines are likely to execute
// differently.
func engineTemplates() []string {
	return []string{
		`{{ .Values.missing }} {{ .Values.missing | default "x" }} {{ .Values.null_ }} {{ .missing }}`,
		`{{ include "missing" . }}`, `{{ template "missing" . }}`, `{{ .Values.missing.deeper }}`, `{{ .Values.name.deeper }}`,
		`{{ index .Values "list" 2 "c" }} {{ index .Values.list 9 }}`,
		`{{ .Values }} {{ .Values.list }} {{ .Values.empty }} {{ .Values.number }} {{ .Release }} {{ .Chart.Keywords }} {{ .Chart.Annotations.z }}`,
		`{{ .Chart.Annotations.missing }}|{{ .Release.IsInstall }}{{ .Release.IsUpgrade }}{{ .Release.Revision }}{{ .Release.Service }}`,
		`{{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.APIVersions.Has "v1" }} {{ .Capabilities.APIVersions | len }} {{ .Capabilities.HelmVersion.Version }}`,
		`{{ .Subcharts.one.Values.own }} {{ .Subcharts.two.Chart.Name }} {{ .Values.one }} {{ .Values.imported }}`,
		`{{ .Files.Get "config/a.txt" }}{{ .Files.Get "missing" }}{{ .Files.GetBytes "config/a.txt" }}{{ .Files.Lines "config/a.txt" }}{{ .Files.Lines "x" }}`,
		`{{ range $k, $v := .Files.Glob "config/*" }}{{ $k }}={{ $v | toString | quote }} {{ end }}{{ (.Files.Glob "config/*").AsConfig }} {{ (.Files.Glob "**.txt").AsSecrets | nindent 2 }}`,
		`{{ .Files.Glob "[" | len }} {{ index .Files "config/a.txt" | toString }} {{ toYaml .Files }} {{ "config/a.txt" | .Files.Get }} {{ quote (.Files.Get "config/a.txt") }}`,
		`{{ tpl .Values.text . }} {{ tpl .Values.nested . }} {{ tpl "<no value>x" . }} {{ tpl "" . }} {{ tpl "  " . }} {{ tpl "{{/* c */}}" . }}`,
		`{{ tpl "{{ .missing }}" . | len }} {{ tpl "<no value>" . | len }} {{ define "m" }}{{ .missing }}{{ end }}{{ include "m" . | len }}`,
		`{{ tpl "{{ .missing }}|{{ .Values.missing }}|{{ .Chart.Annotations.missing }}" . }}`,
		`{{ tpl "{{ define \"shared\" }}tpl{{ end }}{{ include \"shared\" . }}{{ template \"shared\" . }}{{ tpl \"{{ include \\\"shared\\\" . }}\" . }}" . }} {{ include "shared" . }}`,
		`{{ tpl "{{ define \"new\" }}tpl{{ end }}" . }}{{ include "new" . }}`,
		`{{ tpl "{{ define \"new\" }}1{{ end }}{{ tpl \"{{ define \\\"new\\\" }}2{{ end }}{{ include \\\"new\\\" . }}\" . }}{{ include \"new\" . }}" . }}`,
		`{{ define "gotpl" }}mine{{ end }}{{ tpl "{{ include \"shared\" . }}" . }}{{ include "gotpl" . }}`,
		`{{ define "gotpl" }}mine{{ end }}{{ tpl "{{ if .x }}{{ include \"gotpl\" (dict) }}{{ end }}y" (dict "x" 1) }}`,
		`{{ tpl "{{" . }}`, `{{ tpl "{{ nofunction }}" . }}`, `{{ tpl "{{ .a.b.c }}" . }}`, `{{ tpl "{{ fail \"no\" }}" . }}`, `{{ tpl "{{ include \"missing\" . }}" . }}`,
		`{{ define "f" }}{{ required "say x" .Values.x }}{{ end }}{{ include "f" . }}`, `{{ required "" "" }}`, `{{ required "m" 0 }}{{ required "m" list }}`, `{{ fail "a: b: c" }}`, `{{ fail "two\nlines" }}`,
		`{{ $x := 1 }}{{ range list 1 2 3 4 }}{{ if eq . 2 }}{{ continue }}{{ end }}{{ if eq . 4 }}{{ break }}{{ end }}{{ $x = add $x . }}{{ end }}{{ $x }}`,
		`{{ range $i, $e := .Values.list }}{{ $i }}:{{ $e }} {{ end }}{{ range .Values.empty }}x{{ else }}else{{ end }}{{ range $k, $v := dict "b" 1 "a" 2 }}{{ $k }}{{ $v }}{{ end }}`,
		`{{ range 3 }}{{ . }}{{ end }}{{ range $i := 2 }}{{ $i }}{{ end }}{{ $j := 0 }}{{ range $j = 2 }}{{ end }}{{ $j }}{{ range until 0 }}{{ end }}{{ range .Values.missing }}{{ end }}`,
		`{{ range "text" }}{{ end }}`, `{{ range 1.5 }}{{ end }}`, `{{ range $a, $b := 3 }}{{ end }}`,
		`{{ with .Values.missing }}x{{ else with .Values.name }}{{ . }}{{ end }}{{ with $y := 5 }}{{ $y }}{{ end }}`,
		`{{ block "b" . }}{{ .Chart.Name }}{{ end }}{{ template "list" .Values.list }}{{ include "list" list }}`,
		`{{- /* c */ -}} x {{- "y" -}} z {{ printf "%5d|%-5s|%v|%q|%.2f" 3 "a" .Values.list "b" 1.5 }} {{ print 1 2 "a" "b" }} {{ println "x" }}`,
		`{{ html "<a>" }}{{ js "'" }}{{ urlquery "a b" }}{{ len "abc" }}{{ slice (list 1 2 3) 1 }}{{ not true }}{{ and 1 0 }}{{ or 0 2 }}{{ lt 1 2 }}{{ ge "b" "a" }}{{ ne 1 2 3 }}`,
		`{{ toYaml .Values }} {{ toJson .Values.list }} {{ toPrettyJson .Values.list }} {{ toRawJson "<" }} {{ toToml .Values.one }} {{ toYamlPretty .Values.list }} {{ fromYaml "a: [1" }} {{ fromYaml "a: 1" }} {{ fromYamlArray "[1, a]" }} {{ fromJson "[" }} {{ fromJsonArray "[2]" }} {{ fromToml "a = 1" }} {{ fromYaml "null" }}`,
		`{{ toYaml (list) }}{{ toYaml dict }}{{ toYaml nil }}{{ toYaml "a: b" }}{{ toYaml (list 1.0 1e20 -0.5 true "y" "1" "") }}{{ toYaml (dict "1" 2 "true" nil) }}`,
		`{{ list 1 2 | join "," }} {{ dict "a" 1 }} {{ dict "a" }} {{ get dict "x" }} {{ merge (dict "a" (dict "b" 1)) (dict "a" (dict "b" 2 "c" 3)) }} {{ mergeOverwrite (dict "a" 1) (dict "a" 2) }} {{ deepCopy .Values.list }} {{ omit .Values "list" | keys | sortAlpha }} {{ pick .Values "name" }} {{ pluck "own" .Values.one .Values.two }}`,
		`{{ has 1.0 .Values.list }} {{ without .Values.list "b" }} {{ uniq (list 1 1 2) }} {{ append .Values.list 1 }} {{ prepend .Values.list 1 }} {{ concat .Values.list (list 1) }} {{ chunk 2 .Values.list }} {{ reverse .Values.list }} {{ compact (list 0 1 "") }} {{ first .Values.list }} {{ rest .Values.list }} {{ initial .Values.list }} {{ last .Values.list }} {{ dig "a" "b" "d" (dict "a" (dict "b" 1)) }}`,
		`{{ until 3 }} {{ untilStep 5 0 -2 }} {{ untilStep 0 5 0 }} {{ seq 3 }} {{ seq 1 2 7 }} {{ seq 5 1 }} {{ seq }} {{ until -2 }} {{ untilStep 0 5 -1 }} {{ seq 5 1 1 }}`,
		`{{ repeat 3 "ab" }}{{ repeat 0 "x" }}{{ indent 2 "a\nb" }}{{ nindent 2 "" }}{{ replace "a" "bb" "aca" }}{{ replace "" "-" "ab" }}{{ wrapWith 3 "\n" "a b c d" }}{{ cat 1 nil "x" }}{{ quote 1 nil "a\"" }}{{ squote "b" }}{{ splitList "," "a,b" }}{{ split "," "a,b" }}{{ (splitn "," 2 "a,b,c")._1 }}{{ trunc -2 "abc" }}{{ abbrev 5 "abcdefgh" }}`,
		`{{ repeat -1 "x" }}`, `{{ indent -1 "x" }}`, `{{ div 1 0 }}`, `{{ substr 5 2 "abc" }}`, `{{ first 1 }}`, `{{ slice (list 1) 5 }}`, `{{ regexFind "(" "x" }}`, `{{ mustRegexFind "(" "x" }}`, `{{ semver "x" }}`, `{{ mustToDate "2006" "x" }}`, `{{ randBytes -1 }}`, `{{ urlParse ":" }}`, `{{ dig "a" }}`,
		`{{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }} {{ regexSplit "z+" "pizza" -1 }} {{ regexFindAll "[2,4]" "12345678" -1 }} {{ regexMatch "^a" "ab" }} {{ mustRegexReplaceAllLiteral "a" "ab" "$1" }} {{ regexQuoteMeta "." }}`,
		`{{ int "7" }} {{ int64 7.9 }} {{ float64 "1.5" }} {{ int .Values.list }} {{ toDecimal "777" }} {{ add 1 "2" }} {{ mulf 1.5 2 }} {{ round 1.255 2 }} {{ ceil 1.2 }} {{ max 1 3 2 }} {{ atoi "x" }} {{ toString .Values.list }} {{ toStrings .Values.list }}`,
		`{{ semverCompare ">=1.0" "1.2.3" }} {{ (semver "1.2.3-a").Prerelease }} {{ kindOf .Values }} {{ typeOf .Values.list }} {{ typeOf .Chart }} {{ typeIs "string" 1 }} {{ kindIs "map" .Values }} {{ eq .Values.name "word" }} {{ deepEqual .Values.list .Values.list }}`,
		`{{ sha256sum "x" }} {{ b64enc "x" }} {{ b64dec "!" }} {{ derivePassword 1 "long" "a" "b" "c" }} {{ encryptAES "k" "" }} {{ lookup "v1" "Pod" "" "" }} {{ getHostByName "localhost" }} {{ env "HOME" }}`,
		`{{ lookup "v1" "Pod" "" "" }}{{ getHostByName "localhost" }}{{ (urlParse "https://u@h/p").host }} {{ coalesce 0 "" "x" }} {{ ternary 1 2 true }} {{ empty "" }} {{ all 1 0 }} {{ any 1 0 }}`,
		`{{ date "2006-01-02 15:04" 0 }} {{ dateInZone "15:04" 0 "UTC" }} {{ htmlDate 0 }} {{ toDate "2006-01-02" "2020-02-03" }} {{ (toDate "2006" "2020").Year }} {{ duration "95" }} {{ durationRound "2h10m5s" }} {{ unixEpoch (toDate "2006" "2020") }} {{ dateModify "1h" (toDate "2006" "2020") }}`,
		`{{ call .Values.name }}`, `{{ .Values.name 1 }}`, `{{ include "shared" }}`, `{{ tpl 1 . }}`, `{{ indent "a" "b" }}`, `{{ upper 1 }}`, `{{ eq 1 "a" }}`, `{{ 1 2 }}`, `{{ (index .Values "name").x }}`, `{{ quote (.Files.Get 1) }}`, `{{ upper (.Files.Get "config/a.txt" 2) }}`, `{{ "x" | .Release.Name }}`,
		`{{ (.Files.Glob "config/*").AsSecret 2 }}`, `{{ upper (.Files.Glob "config/*") }}`, `{{ range .Files.Get "config/a.txt" }}{{ end }}`, `{{ first ("config/a.txt" | .Files.Get) }}`, `{{ (.Values.list | .Files.Glob).X }}`,
		`{{ initial .Values.List }}`, `{{ initial (.Values.List) }}`, `{{ upper (index .Values.list 0).Name.X }}`, `{{ upper (first (.Values.List)).X }}`,
		`{{ omit .Missing "a" | keys }}`, `{{ keys .Values.Missing }}`, `{{ upper .Missing }}`, `{{ add1 .Missing }}`, `{{ until .Missing }}`, `{{ quote .Missing .Values.Missing }}{{ default "x" .Missing }}{{ kindOf .Missing }}{{ eq .Missing nil }}{{ list .Missing | toJson }}`,
		`{{ .Missing | keys | len }}{{ keys (.Missing) | len }}{{ define "n" }}{{ keys .Missing | len }}{{ end }}{{ include "n" nil }}`, `{{ index .Missing 0 }}`, `{{ first (first .A.B) }}`, `{{ keys (index .Values "x").Missing }}`,
		`{{ end }}`, `{{ if }}`, `{{ nofunction }}`, `{{ fleetc_pass 1 }}`, "{{ define \"x\" }}\n\n{{ .a", `{{ define "shared" }}again{{ end }}{{ define "shared" }}twice{{ end }}`, `{{ $undefined }}`, `{{ break }}`,
		`{{ define "r" }}{{ if gt (int .) 0 }}{{ . }} {{ include "r" (sub . 1) }}{{ end }}{{ end }}{{ include "r" 900 }}`,
		`{{ define "r" }}{{ if gt (int .) 0 }}{{ . }} {{ template "r" (sub . 1) }}{{ end }}{{ end }}{{ template "r" 900 }}`,
		`{{ $d := dict }}{{ $_ := set $d "x" $d }}{{ hasKey $d "x" }}{{ $e := merge (dict) $d }}{{ len $e }}`,
		`{{ set .Values "name" "other" | len }} {{ .Values.name }} {{ sortAlpha .Chart.Keywords }} {{ .Chart.Keywords }}`,
	}
}
