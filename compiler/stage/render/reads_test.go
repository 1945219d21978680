package render

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const readChart = `
-- Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
dependencies: [{name: sub, version: 1.0.0, import-values: [{child: some, parent: imported}]}]
-- values.yaml --
m: {x: 1, deep: {w: 1, z: {a: b}}}
list: [{a: 1}, {b: 2}]
text: plain
global: {team: a}
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0, dependencies: [{name: under, version: 1.0.0, condition: under.enabled}]}
-- charts/sub/charts/under/Chart.yaml --
{apiVersion: v2, name: under, version: 1.0.0}
-- charts/sub/values.yaml --
own: 1
some: {x: 1}
-- charts/sub/templates/sub.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: sub}, data: {x: '{{ .Values.own }}{{ .Values.global.team }}'}}
-- templates/_helpers.tpl --
{{- define "x" }}{{ .x }}{{ end -}}
{{- define "whole" }}{{ toJson . }}{{ end -}}
{{- define "of" }}{{ include .name .with }}{{ end -}}
-- templates/other.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {x: '{{ .Values.text }}'}}
-- templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  x: {{ $x := "" }}{{ with .Values.none }}{{ end }}{{ printf "%s" (include "it" .) | toJson }}
-- templates/_it.tpl --
`

// TestReadsAreComplete renders a template with some values until its
// output is cached, and then with other values: every kind of read must be
// noticed.
func TestReadsAreComplete(t *testing.T) {
	for i, test := range []struct{ template, first, then string }{
		{`{{ .Values.m.x }}`, `m: {x: 1}`, `m: {x: 2}`},
		{`{{ kindOf .Values.m.x }}`, `m: {x: 1}`, `m: {x: "1"}`},
		{`{{ .Values.new }}`, ``, `new: 1`},
		{`{{ .Values.m.new }}`, ``, `m: {new: 1}`},
		{`{{ .Values.m.deep.new }}`, ``, `m: {deep: {new: x}}`},
		{`{{ if .Values.new }}x{{ end }}`, `new: {}`, `new: {x: 1}`},
		{`{{ if .Values.new }}x{{ end }}`, `new: []`, `new: [1]`},
		{`{{ len .Values.m }}`, ``, `m: {new: 1}`},
		{`{{ len .Values }}`, ``, `new: 1`},
		{`{{ len .Subcharts.sub.Values }}`, ``, `sub: {new: 1}`},
		{`{{ len .Values.list }}`, ``, `list: [1, 2, 3]`},
		{`{{ range $k, $v := .Values.m }}{{ $k }}{{ end }}`, ``, `m: {new: 1}`},
		{`{{ range $k, $v := .Values.m }}{{ kindOf $v }}{{ end }}`, ``, `m: {x: text}`},
		{`{{ range .Values.m }}{{ if kindIs "map" . }}{{ .w }}{{ end }}{{ end }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ range .Values.list }}{{ .a }}{{ end }}`, ``, `list: [{a: 2}, {b: 2}]`},
		{`{{ with .Values.m }}{{ with .deep }}{{ .w }}{{ end }}{{ end }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ $v := .Values }}{{ $d := $v.m.deep }}{{ $d.z.a }}`, ``, `m: {deep: {z: {a: c}}}`},
		{`{{ index .Values "m" "deep" "w" }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ index .Values.m (lower "X") }}`, ``, `m: {x: 2}`},
		{`{{ "w" | index .Values "m" "deep" }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ index .Values.list 0 "a" }}`, ``, `list: [{a: 2}]`},
		{`{{ (index .Values "m").deep.w }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ get .Values.m "x" }}`, ``, `m: {x: 2}`},
		{`{{ get .Values.m "new" }}`, ``, `m: {new: 2}`},
		{`{{ hasKey .Values.m "new" }}`, ``, `m: {new: 2}`},
		{`{{ dig "deep" "w" 0 .Values.m }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ dig "deep" "none" "w" 0 .Values.m }}`, ``, `m: {deep: {none: {w: 2}}}`},
		{`{{ dict .Values.m.deep 1 | toJson }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ dict "k" .Values.m.deep | toJson }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ toJson (list (list (dict "k" (list .Values.m.deep)))) }}`, ``, `m: {deep: {z: {a: c}}}`},
		{`{{ toYaml (chunk 1 (list .Values.m)) }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ .Values.m | values | toJson }}`, ``, `m: {x: 2}`},
		{`{{ .Values.m | keys | toJson }}`, ``, `m: {new: 2}`},
		{`{{ pluck "x" .Values.m | toJson }}`, ``, `m: {x: 2}`},
		{`{{ pick .Values.m "x" | toJson }}`, ``, `m: {x: 2}`},
		{`{{ omit .Values.m "x" | toJson }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ (deepCopy .Values.m).deep.w }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ (merge (dict) .Values.m).x }}`, ``, `m: {x: 2}`},
		{`{{ (merge (dict) .Values.m).deep.w }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ $d := dict }}{{ $_ := set $d "m" .Values.m }}{{ $d.m.deep.w }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ include "x" .Values.m }}`, ``, `m: {x: 2}`},
		{`{{ include "whole" .Values.m }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ include "of" (dict "name" "x" "with" (dict "x" .Values.text)) }}`, ``, `text: x`},
		{`{{ include "of" (dict "name" .Values.text "with" .Values.m) }}`, `text: x`, `text: whole`},
		{`{{ template "x" .Values.m }}`, ``, `m: {x: 2}`},
		{`{{ tpl .Values.text . }}`, ``, `text: "{{ .Values.m.x }}"`},
		{`{{ tpl .Values.text . }}`, `text: "{{ .Values.m.x }}"`, `{text: "{{ .Values.m.x }}", m: {x: 2}}`},
		{`{{ tpl "{{ .deep.w }}" .Values.m }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ tpl (toYaml .Values.list) . }}`, ``, `list: [{a: 2}]`},
		{`{{ .Values.m }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ .Values }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ toJson .Values }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ toJson .Values.AsMap }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ .Values.YAML }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ (.Values.Table "m.deep").w }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ .Values.PathValue "m.x" }}`, ``, `m: {x: 2}`},
		{`{{ .Values.YAML }}`, `YAML: x`, `{YAML: x, m: {x: 2}}`},
		{`{{ toJson .Release }}`, ``, `-n`},
		{`{{ .Release.Namespace }}`, ``, `-n`},
		{`{{ with .Release }}{{ .Namespace }}{{ end }}`, ``, `-n`},
		{`{{ .Subcharts.sub.Values.own }}`, ``, `sub: {own: 2}`},
		{`{{ with .Subcharts.sub }}{{ .Values.own }}{{ end }}`, ``, `sub: {own: 2}`},
		{`{{ range $k, $s := .Subcharts }}{{ $s.Values.own }}{{ end }}`, ``, `sub: {own: 2}`},
		{`{{ toJson .Subcharts.sub.Values }}`, ``, `sub: {own: 2}`},
		{`{{ .Values.sub.own }}`, ``, `sub: {own: 2}`},
		{`{{ .Values.sub.global.team }}`, ``, `global: {team: b}`},
		{`{{ .Values.global.team }}`, ``, `global: {team: b}`},
		{`{{ default "x" .Values.new }}`, ``, `new: y`},
		{`{{ coalesce .Values.new .Values.text }}`, ``, `new: y`},
		{`{{ ternary "x" "y" (empty .Values.new) }}`, ``, `new: y`},
		{`{{ first .Values.list | toJson }}`, ``, `list: [{a: 2}]`},
		{`{{ and .Values.m .Values.new | toJson }}`, ``, `new: {x: 1}`},
		{`{{ or .Values.new .Values.m | toJson }}`, `new: {}`, `new: {x: 1}`},
		{`{{ not .Values.new }}`, ``, `new: {x: 1}`},
		{`{{ eq .Values.text "plain" }}`, ``, `text: x`},
		{`{{ has "a" .Values.list }}`, ``, `list: [a]`},
		{`{{ printf "%v" .Values.m }}`, ``, `m: {x: 2}`},
		{`{{ print .Values.m.x }}`, ``, `m: {x: 2}`},
		{`{{ quote .Values.m }}`, ``, `m: {x: 2}`},
		{`{{ if typeIs "map[string]interface {}" .Values.new }}x{{ end }}`, ``, `new: {}`},
		{`{{ toJson .Values.new }}`, `new: []`, `new: {}`},
		{`{{ index .Values "a\x00b" }}`, `{a: 1}`, `{"a\0b": x}`},
		{`{{ .Values.m.x }}`, `{m: {x: 1}, "a\0b": x}`, `{m: {x: 2}, "a\0b": x}`},
		{`{{ $k := "x" }}{{ range list "x" "deep" }}{{ get $.Values.m . | toJson }}{{ end }}`, ``, `m: {deep: {w: 2}}`},
		{`{{ range $k, $v := . }}{{ if eq $k "Values" }}{{ len $v }}{{ end }}{{ end }}`, ``, `new: 1`},
		{`{{ range $k, $v := .Subcharts.sub }}{{ if eq $k "Values" }}{{ len $v }}{{ end }}{{ end }}`, ``, `sub: {new: 1}`},
		{`{{ .Values.text }}{{ toJson .Subcharts.sub.Template }}`, ``, `text: x`},
		{`{{ if .Subcharts.sub.Subcharts.under }}on{{ end }}`, ``, `sub: {under: {enabled: false}}`},
		{`{{ len .Subcharts.sub.Subcharts }}`, `sub: {under: {enabled: false}}`, ``},
		{`{{ .Files.Get "none" }}{{ .Values.text | b64enc | sha256sum }}`, ``, `text: x`},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			ch := chartOf(readChart + `{{ define "it" }}` + test.template + "{{ end }}\n")
			var recalling Charts
			executing := Charts{noCache: true}
			release := func(values string) *fleet.Release {
				if values != "-n" {
					return releaseOf(t, values)
				}
				r := releaseOf(t, "")
				r.Namespace = "another"
				return r
			}
			var first, last string
			for n := range 30 {
				values := test.first
				if n >= 14 {
					values = test.then
				}
				got, err := recalling.Release(t.Context(), cluster, release(values), ch, nil)
				if err != nil {
					t.Fatal(err)
				}
				want, err := executing.Release(t.Context(), cluster, release(values), ch, nil)
				if err != nil {
					t.Fatal(err)
				}
				last = contentsOf(want.Objects)
				if n == 0 {
					first = last
				}
				for i, o := range got.Objects {
					if !reflect.DeepEqual(o.Object, want.Objects[i].Object) {
						t.Errorf("%s with %q after %q prints\n%v, want\n%v", test.template, values, test.first, o.Object, want.Objects[i].Object)
					}
				}
			}
			if first == last {
				t.Errorf("%s prints the same with %q and %q", test.template, test.first, test.then)
			}
			if followed := !strings.Contains(test.first, `\0`); hasCacheHit(&recalling, ch) != followed {
				t.Errorf("recalled: %v, want %v", !followed, followed)
			}
		})
	}
}

// contentsOf returns the contents of objects as text.
func contentsOf(objs []fleet.Object) string {
	var all []any
	for _, o := range objs {
		all = append(all, o.Object)
	}
	return fmt.Sprint(all)
}

// TestFaultsAreNotCached checks that a template fails for invalid values
// even when its output for other values is cached.
func TestFaultsAreNotCached(t *testing.T) {
	for template, values := range map[string]string{
		`{{ range .Values.list }}{{ .a }}{{ end }}`:         `list: [{a: 1}, ~]`,
		`{{ range $v := .Values.list }}{{ $v.a }}{{ end }}`: `list: [{a: 1}, ~]`,
		`{{ .Values.m.deep.y.z }}`:                          ``,
		`{{ .Values.new.x }}`:                               ``,
		`{{ index .Values.new "x" }}`:                       ``,
		`{{ required "give one" .Values.new }}`:             ``,
	} {
		ch := chartOf(readChart + `{{ define "it" }}` + template + "{{ end }}\n")
		var recalling Charts
		want := ""
		for n := range 24 {
			_, err := recalling.Release(t.Context(), cluster, releaseOf(t, values), ch, nil)
			if n == 0 {
				want = fmt.Sprint(err)
			}
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", template, err, want)
			}
		}
	}
}

// TestTrackingIsBounded checks that tracking ends for a list that contains a
// list ten times, and so on.
func TestTrackingIsBounded(t *testing.T) {
	ch := chartOf(readChart + `{{ define "it" }}{{ $a := list 1 }}{{ range until 12 }}{{ $a = list $a $a $a $a $a $a $a $a $a $a }}{{ end }}{{ if any $a }}x{{ end }}{{ end }}
`)
	var charts Charts
	for range 16 {
		if _, err := charts.Release(t.Context(), cluster, releaseOf(t, ""), ch, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// hasCacheHit reports whether the chart had a cache hit.
func hasCacheHit(cs *Charts, ch *fleet.Chart) bool {
	for _, known := range cs.source(ch).outputs.byStructure {
		for _, v := range known.templates {
			for _, v := range v.all {
				if v.hit {
					return true
				}
			}
		}
	}
	return false
}

// TestTrackedMatchesExecuted executes the templates of our charts with and without
// tracking, and compares output and costs.
func TestTrackedMatchesExecuted(t *testing.T) {
	dirs, err := filepath.Glob("../../../testdata/charts/*/Chart.yaml")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%d charts, %v", len(dirs), err)
	}
	compared := 0
	for _, dir := range dirs {
		ch := loaded(t, filepath.Dir(dir))
		s := new(Charts).source(ch)
		caps, err := capabilities(cluster, nil)
		if err != nil {
			t.Fatal(err)
		}
		var texts [2]map[string]string
		var left [2]limits
		for i, s := range []*source{s, s.tracked(newReads())} {
			c := instance(s.chart)
			values, _, err := templateValues(c, releaseOf(t, ""), nil, caps)
			if err != nil {
				t.Fatal(err)
			}
			all := renderables(c, values)
			e, err := s.engine(t.Context(), new(Charts).limits(), newEntropy(clock(s)), all)
			if err != nil {
				t.Fatal(err)
			}
			pages, err := e.render(all, nil, nil)
			if err != nil {
				continue // a chart that requires values
			}
			if len(e.nondeterministicTemplates) == 0 {
				compared++
				texts[i], left[i] = textsOf(pages), e.left
			}
		}
		if !reflect.DeepEqual(texts[0], texts[1]) || left[0] != left[1] {
			t.Errorf("%s: followed, it prints something else, or leaves %v of %v", ch.Ref.Path, left[1], left[0])
		}
	}
	if compared < 20 {
		t.Errorf("%d renderings were compared", compared)
	}
}

// TestValueDigests checks that values which templates can distinguish have different
// digests.
func TestValueDigests(t *testing.T) {
	values := func(text string) any {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	all := []any{
		nil, true, false, "", "a", "ab", 1, int64(1), 1.0, []any(nil), map[string]any(nil),
		map[string]any{},
		chartutil.Values{},
		values("[]"), values("[null]"), values("[[]]"), values("[a, b]"), values("[ab]"), values("[[a], b]"), values("[a, [b]]"),
		values("{a: b}"), values("{a: null}"), values("{a: {}}"), values("{a: {b: c}}"), values("{a: {}, b: c}"), values("{ab: c}"), values("{a: bc}"),
	}
	seen := map[string]int{}
	for i, v := range all {
		var w encoder
		if !w.value(v, readWhole) {
			t.Errorf("%#v is not known", v)
		}
		if j, ok := seen[string(w)]; ok {
			t.Errorf("%#v is as %#v", v, all[j])
		}
		seen[string(w)] = i
	}
	var w encoder
	if w.value(map[string]any{"x": struct{}{}}, readWhole) {
		t.Error("a struct is known")
	}
}
