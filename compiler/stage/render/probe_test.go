package render

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

const probedChart = `
-- Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
dependencies:
- {name: sub, version: 1.0.0, condition: sub.enabled, import-values: [here, {child: some, parent: imported}]}
-- values.yaml --
global: {team: a}
size: 1
deep: {er: {value: v, other: o}}
listed: {k: v}
indexed: {a-b: {c: d}}
unread: u
text: "{{ .Values.deep.er.value }}"
-- templates/_helpers.tpl --
{{- define "one" }}
one: {{ .deep.er.value }}
two: 2
{{- end }}
{{- define "outer" -}}
{{ include "one" . }}
{{- end }}
-- templates/z.yaml --
{{- $_ := set .Values "late" "set" }}
-- templates/a.yaml --
# a comment
apiVersion: v1
kind: ConfigMap
metadata:
  name: first
---
{{- $v := .Values }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: second
  namespace: {{ .Release.Namespace }}
data:
  size: {{ $v.size |
    quote }}
  {{- include "outer" .Values | nindent 2 }}
  {{- range $k, $x := .Values.listed }}
  {{ $k }}: {{ $x }}
  {{- end }}
  indexed: {{ index .Values "indexed" "a-b" "c" }}
  tpl: {{ tpl .Values.text $ }}
  imports: {{ .Values.key }}{{ (.Values.imported | default dict).x }}
-- templates/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: third}
data: {late: "{{ .Values.late }}"}
-- charts/sub/Chart.yaml --
apiVersion: v2
name: sub
version: 1.0.0
-- charts/sub/values.yaml --
own: 1
exports: {here: {key: v}}
some: {x: 1, y: 2}
-- charts/sub/templates/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: sub}
data:
  {{- with .Values.global }}
  team: {{ .team }}
  {{- end }}
  own: {{ .Values.own | quote }}
`

func probe(t *testing.T, ch *fleet.Chart, r *fleet.Release, name string) *Probe {
	t.Helper()
	charts := new(Charts)
	res, err := charts.Release(t.Context(), cluster, r, ch, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(res.Objects, func(o fleet.Object) bool { return o.GetName() == name })
	if i < 0 {
		t.Fatalf("there is no object %s", name)
	}
	p, err := charts.Probe(t.Context(), cluster, r, ch, nil, res.Objects[i])
	if err != nil || p == nil {
		t.Fatalf("%v, %v", p, err)
	}
	if !reflect.DeepEqual(p.Object(), res.Objects[i].Object) {
		t.Errorf("the probe has %v, the release %v", p.Object(), res.Objects[i].Object)
	}
	return p
}

func TestProbeReads(t *testing.T) {
	p := probe(t, chartOf(probedChart), releaseOf(t, "sub: {enabled: true}"), "second")
	for path, want := range map[string]bool{
		"size": true, "deep.er.value": true, "listed.k": true, "indexed.a-b.c": true, "text": true,
		"sub.exports.here.key": true, "sub.some.x": true, "sub.some.y": false,
		"deep.er.other": false, "unread": false, "sub.own": false, "global.team": false, "sub.enabled": false,
	} {
		if got := p.Reads(strings.Split(path, ".")...); got != want {
			t.Errorf("%s is read: %v", path, got)
		}
	}
	sub := probe(t, chartOf(probedChart), releaseOf(t, "sub: {enabled: true}"), "sub")
	for path, want := range map[string]bool{
		"sub.own": true, "sub.enabled": true, "global.team": true, "sub.global.team": false, "size": false,
	} {
		if got := sub.Reads(strings.Split(path, ".")...); got != want {
			t.Errorf("of the dependency, %s is read: %v", path, got)
		}
	}
}

func TestProbePlaces(t *testing.T) {
	p := probe(t, chartOf(probedChart), releaseOf(t, ""), "second")
	for field, want := range map[string]string{
		"":                   "a.yaml:8",
		"kind":               "a.yaml:9",
		"metadata":           "a.yaml:10",
		"metadata.namespace": "a.yaml:12",
		"data.size":          "a.yaml:14",
		"data.one":           "a.yaml:16 _helpers.tpl:6 _helpers.tpl:2",
		"data.two":           "a.yaml:16 _helpers.tpl:6 _helpers.tpl:3",
		"data.k":             "a.yaml:18",
		"data.tpl":           "a.yaml:21 gotpl:1",
		"data.no":            "",
	} {
		var keys []string
		if field != "" {
			keys = strings.Split(field, ".")
		}
		var got []string
		for _, place := range p.TemplateLines(keys) {
			got = append(got, fmt.Sprintf("%s:%d", filepath.Base(place.Template), place.Line))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s is printed by %s, want %s", field, text, want)
		}
	}
}

// TestProbeRenders checks that a probe renders the same object as the release
// with the same values.
func TestProbeRenders(t *testing.T) {
	const user = "sub: {enabled: true}"
	ch := chartOf(probedChart)
	for _, test := range []struct {
		object, path string
		value        any
		with         string
	}{
		{"second", "size", 7.0, "size: 7"},
		{"second", "deep.er", nil, "deep: {er: null}"},
		{"second", "listed.more", "x", "listed: {more: x}"},
		{"second", "sub.exports.here.key", "w", "sub: {enabled: true, exports: {here: {key: w}}}"},
		{"second", "sub.some.x", 3.0, "sub: {enabled: true, some: {x: 3}}"},
		{"third", "late", "early", "late: early"}, // another template sets it
		{"sub", "global.team", "b", "global: {team: b}"},
		{"sub", "sub.own", 2.0, "sub: {enabled: true, own: 2}"},
		{"sub", "sub.enabled", false, "sub: {enabled: false}"},
	} {
		p := probe(t, ch, releaseOf(t, user), test.object)
		got, err := p.Render(Override{strings.Split(test.path, "."), test.value})
		r := releaseOf(t, user)
		for k, v := range releaseOf(t, test.with).Values.Fields {
			r.Values.Fields[k] = v
		}
		res, wantErr := new(Charts).Release(t.Context(), cluster, r, ch, nil)
		var want map[string]any
		for _, o := range res.Objects {
			if o.GetName() == test.object {
				want = o.Object
			}
		}
		if (err != nil) != (wantErr != nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s:\n%v, %v\nwant\n%v, %v", test.object, test.path, got, err, want, wantErr)
		}
	}
	p := probe(t, ch, releaseOf(t, user), "second")
	if got, err := p.RenderIn("elsewhere"); err != nil || fmt.Sprint(got["metadata"]) != "map[name:second namespace:elsewhere]" {
		t.Errorf("in another namespace: %v, %v", got, err)
	}
}
