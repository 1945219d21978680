package values

import (
	"testing"
)

func TestElsewhere(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies: [{name: state-metrics, version: 1.x}]\n",
		"values.yaml": `
global: {domain: ""}
controller: {replicaCount: 1, image: {tag: "1"}, spec: {retention: 1d}}
backend: {replicaCount: 1, port: {number: 1}}
many: {a: {few: 1}, b: {few: 1}, c: {few: 1}, d: {few: 1}, e: {few: 1}}
countless: {a: {on: 1}, b: {on: 1}, c: {on: 1}, d: {on: 1}, e: {on: 1}, f: {on: 1}, g: {on: 1}, h: {on: 1}, i: {on: 1}}
stateMetrics: {enabled: true}
`,
		"templates/x.yaml":                      "a: {{ toJson .Values }}",
		"charts/state-metrics/Chart.yaml":       "apiVersion: v2\nname: state-metrics\nversion: 1.0.0\n",
		"charts/state-metrics/values.yaml":      "deep: {replicas: 1}\nreplicas: 1\n",
		"charts/state-metrics/templates/x.yaml": "a: {{ toJson .Values }}",
	}))
	const all = "use one of backend, controller, countless, global, many, state-metrics, stateMetrics"
	for values, want := range map[string]string{
		"replicaCount: 2":                  "did you mean controller.replicaCount or backend.replicaCount?",
		"image: {tag: x}":                  "did you mean controller.image?",
		"image: x":                         all, // the chart has no such text
		"image: {name: x}":                 all,
		"replicas: 2":                      "did you mean state-metrics.replicas?",
		"replica-count: 2":                 "did you mean controller.replicaCount, backend.replicaCount or state-metrics.replicas?",
		"backend: {replicas: 2}":           "did you mean backend.replicaCount?",
		"retentions: 2d":                   "did you mean controller.spec.retention?",
		"domain: x":                        "did you mean global.domain?",
		"controller: {retention: 2d}":      "did you mean controller.spec.retention?",
		"backend: {retention: 2d}":         "did you mean controller.spec.retention?",
		"few: 2":                           "did you mean many.a.few, many.b.few, many.c.few or one of 2 others?",
		"on: 2":                            all,
		"stateMetrics: {replicas: 2}":      "did you mean state-metrics.replicas?",
		"controller.image.tag: x":          "write controller: image: tag: ... instead: in quotes, the dots are a part of the name",
		"backend: {port.number: 2}":        "write port: number: ... instead: in quotes, the dots are a part of the name",
		"backend: {controller.image: 2}":   "use one of port, replicaCount",
		"controller: {replicaCounts: 'x'}": "did you mean replicaCount?",
	} {
		faults := typ.Check(tree(t, "values.cue", values), nil)
		if len(faults) != 1 || faults[0].Hint != want {
			t.Errorf("%s: %v, want %s", values, faults, want)
		}
	}
}
