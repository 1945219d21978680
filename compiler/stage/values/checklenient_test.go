package values

import (
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// TestCheckIsLenient checks values of another type than the default that charts
// and Kubernetes accept nevertheless.
func TestCheckIsLenient(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": `
resources: {requests: {cpu: 100m, memory: 64Mi}}
livenessProbe: {httpGet: {path: /, port: https}}
service: {targetPorts: {https: https}, portName: x}
minAvailable: "1"
config: {enabled: false}
extraArgs: []
tag: "1.0"
`,
		"values.schema.json": `{"properties": {"extraArgs": {"type": ["array", "object"], "items": {"type": "string"}}}}`,
		"templates/x.yaml": `
r: {{ toYaml .Values.resources }}
p: {{ toYaml .Values.livenessProbe }}
s: {{ .Values.service.targetPorts.https }} {{ .Values.service.portName }} {{ .Values.minAvailable }} {{ .Values.tag }}
{{ range $k, $v := .Values.config }}{{ $k }}: {{ $v | toString | quote }}{{ end }}
{{ range $k, $v := .Values.extraArgs }}- {{ $k }}={{ $v }}{{ end }}
`,
	}))
	for _, text := range []string{
		"resources: {requests: {cpu: 1, memory: 1000}, limits: {cpu: 2}}",
		"livenessProbe: {httpGet: {port: 10250}}",
		"service: {targetPorts: {https: 443}}",
		"minAvailable: 2",
		`config: {enabled: "true"}`,
		"extraArgs: {x: [a, b], n: 5, b: true}",
		"extraArgs: [a, b]",
	} {
		if faults := typ.Check(tree(t, "values.yaml", text), nil); len(faults) > 0 {
			t.Errorf("%s: %v", text, faults)
		}
	}
	for _, text := range []string{"service: {portName: 5}", "tag: 1.2", "extraArgs: [1]"} {
		if faults := typ.Check(tree(t, "values.yaml", text), nil); len(faults) != 1 {
			t.Errorf("%s: %v", text, faults)
		}
	}
}

// TestWaiverOfSchema checks that a waiver accepts a value that the chart's schema rejects,
// also if another check finds it first, and that the waiver is a fix.
func TestWaiverOfSchema(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml":        "replicas: 1\nimage: {tag: a}\n",
		"values.schema.json": `{"properties": {"replicas": {"type": "integer"}, "image": {"additionalProperties": false, "properties": {"tag": {}}}}}`,
		"templates/a.yaml":   "a: {{ .Values.replicas }}{{ .Values.image.tag }}\n",
	}))
	v := tree(t, "v.yaml", "replicas: many\nimage: {tga: x}\n")
	want := `v.yaml:1:1: values.replicas: "many" is a string, and the chart expects a number (its default is 1)
    hint: set it to a number
v.yaml:2:9: values.image.tga: no such value: neither values.yaml, a schema nor a template of the chart names it
    hint: did you mean tag?
`
	found := typ.Check(v, nil)
	if got := faults(found); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, d := range found {
		if !slices.ContainsFunc(d.Fixes, func(f diag.Fix) bool { return f.Kind == diag.FixWaiver }) {
			t.Errorf("%s: a waiver is not a fix", d.Path)
		}
	}
	open := []fleet.Waiver{{Path: "replicas", Reason: "r"}, {Path: "image", Reason: "r"}}
	if found := typ.Check(v, open); len(found) > 0 {
		t.Error(found)
	}
}

// TestWaiverOfAll checks that the waiver "*" accepts all faults of a chart, and
// is a fault itself when there are none.
func TestWaiverOfAll(t *testing.T) {
	typ := derive(t, fleetChart(app))
	all := []fleet.Waiver{{Path: "*", Reason: "it is ours", Pos: diag.Pos{File: "x.cue", Line: 1}}}
	if faults := typ.Check(tree(t, "values.yaml", "nobody: 1\nimage: {tga: x}"), all); len(faults) > 0 {
		t.Error(faults)
	}
	if faults := typ.Check(tree(t, "values.yaml", "replicaCount: 2"), all); len(faults) != 1 {
		t.Error(faults)
	}
}

// TestWaiverOfValues checks that no waiver is a fix if its path would name another value:
// the prefix values of a path can be left out.
func TestWaiverOfValues(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml":      "values: {a: 1}\nother: {a: 1}\n",
		"templates/a.yaml": "a: {{ .Values.values.a }}{{ .Values.other.a }}\n",
	}))
	for text, want := range map[string]bool{"values: {b: 1}": false, "other: {b: 1}": true} {
		found := typ.Check(tree(t, "v.yaml", text), nil)
		if len(found) != 1 {
			t.Fatalf("%s: %v", text, found)
		}
		if got := slices.ContainsFunc(found[0].Fixes, func(f diag.Fix) bool { return f.Kind == diag.FixWaiver }); got != want {
			t.Errorf("%s: a waiver is a fix: %t", text, got)
		}
	}
}
