package render

import (
	"testing"
)

// TestState checks that modifications of shared state are noticed, and
// modifications of a template's own values are not.
func TestState(t *testing.T) {
	const chart = `
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, keywords: [c, b, a], sources: [y, x], dependencies: [{name: sub, version: 1.0.0, tags: [z, x]}]}
-- values.yaml --
m: {x: 1, deep: {y: 1}}
o: {deep: {z: 1}}
list: [{a: 1}]
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0, keywords: [b, a]}
-- charts/sub/values.yaml --
own: {x: 1}
-- charts/sub/templates/x.yaml --
-- templates/a.yaml --
`
	for template, want := range map[string]bool{
		`{{ $_ := set .Values "new" 1 }}`:                                                            true,
		`{{ $_ := set .Values.m.deep "new" 1 }}`:                                                     true,
		`{{ $_ := unset .Values "m" }}`:                                                              true,
		`{{ $_ := set . "left" "behind" }}`:                                                          true,
		`{{ $_ := set .Release "x" 1 }}`:                                                             true,
		`{{ $_ := set .Template "x" 1 }}`:                                                            true,
		`{{ $_ := set .Subcharts.sub.Values.own "x" 2 }}`:                                            true,
		`{{ $_ := set (index .Values.list 0) "x" 2 }}`:                                               true,
		`{{ $d := dict "m" .Values.m }}{{ $_ := set $d.m "x" 2 }}`:                                   true,
		`{{ $_ := set .Values.AsMap "x" 2 }}`:                                                        true,
		`{{ $_ := tpl "{{ $_ := set .Values \"x\" 2 }}" . }}`:                                        true,
		`{{ $_ := merge .Values.m (dict "new" 1) }}`:                                                 true,
		`{{ $_ := mustMergeOverwrite .Values (dict "new" 1) }}`:                                      true,
		`{{ $_ := merge (dict "m" .Values.m) (dict "m" (dict "new" 1)) }}`:                           true,
		`{{ $_ := merge (dict) .Values.m .Values.o }}`:                                               true, // deep belongs to m
		`{{ $_ := mustMerge (dict) .Values (dict "m" (dict "new" 1)) }}`:                             true,
		`{{ $d := mergeOverwrite (dict) .Values }}{{ $_ := set $d.m "x" 2 }}`:                        true,
		`{{ $_ := sortAlpha .Chart.Keywords }}`:                                                      true,
		`{{ $_ := slice .Chart.Sources 1 | sortAlpha }}`:                                             true,
		`{{ $_ := sortAlpha (index .Chart.Dependencies 0).Tags }}`:                                   true,
		`{{ $_ := sortAlpha .Subcharts.sub.Chart.Keywords }}`:                                        true,
		`{{ $d := dict }}{{ $_ := set $d "x" .Values.m }}{{ $_ := unset $d "x" }}`:                   false,
		`{{ $_ := set (deepCopy .Values.m) "x" 2 }}`:                                                 false,
		`{{ $_ := merge (dict) .Values.m }}`:                                                         false,
		`{{ $_ := mergeOverwrite (deepCopy .Values.m) .Values.o }}`:                                  false,
		`{{ $_ := keys .Values | sortAlpha }}{{ $_ := sortAlpha .Values.list }}{{ sortAlpha list }}`: false,
		`{{ $_ := set (fromYaml "a: 1") "x" 2 }}{{ toYaml .Values }}`:                                false,
	} {
		s := new(Charts).source(chartOf(chart + template + "\n"))
		c := instance(s.chart)
		values, _, err := templateValues(c, releaseOf(t, ""), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all := renderables(c, values)
		e, err := s.engine(t.Context(), new(Charts).limits(), newEntropy(clock(s)), all)
		if err == nil {
			_, err = e.render(all, nil, nil)
		}
		if err != nil || e.modified != want {
			t.Errorf("%s: %v, %v, want %v", template, e.modified, err, want)
		}
	}
}

// TestDefinitionsEnd checks that the templates that a rendering defines or enables are
// not defined in the next.
func TestDefinitionsEnd(t *testing.T) {
	ch := chartOf(`
-- Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0, dependencies: [{name: sub, version: 1.0.0, condition: on}]}
-- charts/sub/Chart.yaml --
{apiVersion: v2, name: sub, version: 1.0.0}
-- charts/sub/templates/_x.tpl --
{{ define "name" }}of-sub{{ end }}
-- templates/_x.tpl --
{{ define "name.of" }}{{ include (default "none" .Values.name) . }}{{ end }}{{ define "none" }}{{ regexReplaceAll "x+" "axxb" "-" }}{{ end }}
-- templates/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ tpl (default "{{ include \"name.of\" . }}" .Values.tpl) . }}}}`)
	charts := &Charts{noCache: true}
	for _, test := range []struct {
		values, want string
	}{
		{"on: false", "a-b"},
		{"{on: false, x: 1}", "a-b"},
		{"{on: true, name: name}", "of-sub"},
		{"{on: true, name: name, x: 1}", "of-sub"},
		{"{on: false, name: name}", ""}, // it is not defined here
		{"{on: true, tpl: '{{ define \"name\" }}other{{ end }}{{ include \"name\" . }}'}", "other"},
		{"{on: true, name: name}", "of-sub"},
	} {
		res, err := charts.Release(t.Context(), cluster, releaseOf(t, test.values), ch, nil)
		got := ""
		if err == nil {
			got = res.Objects[0].GetName()
		}
		if got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.values, got, err, test.want)
		}
	}
}
