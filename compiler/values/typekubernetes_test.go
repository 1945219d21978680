package values

import (
	"strings"
	"testing"
)

func TestConventions(t *testing.T) {
	const values = `
resources: {}
securityContext: {enabled: true, capabilities: {drop: [ALL]}, runAsUser: 1}
jobResources: {limits: {cpu: 1}}
extraResources: {}
podAffinity: {}
affinity: {}
livenessProbe: {mine: 1}
ranged: {resources: {}}
notDumped: {resources: {}}
`
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml": values,
		"templates/x.yaml": "{{ range $k, $v := .Values.ranged }}{{ toYaml $v }}{{ end }}{{ if .Values.notDumped.resources }}{{ end }}" +
			"{{ toYaml .Values.resources }}{{ omit .Values.securityContext \"enabled\" | toYaml }}{{ toYaml .Values.jobResources }}" +
			"{{ toYaml .Values.extraResources }}{{ toYaml .Values.podAffinity }}{{ toYaml .Values.affinity }}{{ toYaml .Values.livenessProbe }}",
	}))
	for path, closed := range map[string]bool{
		"resources": true, "resources.limits": false, "securityContext": true, "securityContext.capabilities": true,
		"jobResources": true, "jobResources.limits": false, "extraResources": false, "podAffinity": false, "affinity": true, "livenessProbe": false,
	} {
		if at, ok := typ.At(strings.Split(path, ".")...); !ok || at.Open == closed {
			t.Errorf("%s: known %v, open %v because %q", path, ok, at.Open, at.Why)
		}
	}
	for text, want := range map[string]string{
		"resources: {limts: {cpu: 1}}":                        "did you mean limits?",
		"securityContext: {runAsUsr: 1}":                      "did you mean runAsUser?",
		"securityContext: {capabilities: {dorp: [X]}}":        "did you mean drop?",
		"securityContext: {enabled: false, privileged: true}": "",
		"resources: {limits: {nvidia.com/gpu: 1}}":            "",
		"extraResources: {x: {kind: Y}}":                      "",
	} {
		got := typ.Check(tree(t, "v.yaml", text), nil)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].Hint != want) {
			t.Errorf("%s: %s", text, faults(got))
		}
	}
}
