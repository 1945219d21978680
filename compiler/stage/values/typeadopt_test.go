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
strategy: {}
deployStrategy: {type: Recreate}
ranged: {resources: {}}
notDumped: {resources: {}}
`
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml": values,
		"templates/x.yaml": "{{ range $k, $v := .Values.ranged }}{{ toYaml $v }}{{ end }}{{ if .Values.notDumped.resources }}{{ end }}" +
			"{{ toYaml .Values.resources }}{{ omit .Values.securityContext \"enabled\" | toYaml }}{{ toYaml .Values.jobResources }}" +
			"{{ toYaml .Values.extraResources }}{{ toYaml .Values.podAffinity }}{{ toYaml .Values.affinity }}{{ toYaml .Values.livenessProbe }}" +
			"{{ toYaml .Values.strategy }}{{ toYaml .Values.deployStrategy }}",
	}))
	for path, closed := range map[string]bool{
		"resources": true, "resources.limits": true, "securityContext": true, "securityContext.capabilities": true,
		"jobResources": true, "jobResources.limits": true, "extraResources": false, "podAffinity": false, "affinity": true, "livenessProbe": false,
		"strategy": false, "deployStrategy": true,
	} {
		if at, ok := typ.At(strings.Split(path, ".")...); !ok || at.Open == closed {
			t.Errorf("%s: known %v, open %v because %q", path, ok, at.Open, at.Why)
		}
	}
	for text, want := range map[string]string{
		"resources: {limts: {cpu: 1}}":                         "did you mean limits?",
		"resources: {limits: {cup: 1}}":                        "did you mean cpu?",
		"resources: {limits: {gpu: 1}}":                        "did you mean cpu?",
		"resources: {limits: {nvidia.com/gpu: 1, memory: 1G}}": "",
		"resources: {requests: null, limits: {cpu: null}}":     "",
		"resources: {claims: [{nmae: x}]}":                     "did you mean name?",
		"securityContext: {runAsUsr: 1}":                       "did you mean runAsUser?",
		"securityContext: {capabilities: {dorp: [X]}}":         "did you mean drop?",
		"securityContext: {seccompProfile: {tpye: X}}":         "did you mean type?",
		"securityContext: {enabled: false, privileged: true}":  "",
		"securityContext: {fsGroup: 1}":                        "",
		"extraResources: {x: {kind: Y}}":                       "",
		"affinity: '{{ x }}'":                                  "set it to a map",
		"affinity: {podAffinity: '{{ x }}'}":                   "",
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressoins: []}]}}}": "did you mean matchExpressions?",
		"deployStrategy: {rollingUpdate: {maxSurge: 1, partition: 1}}":                                                              "",
	} {
		got := typ.Check(tree(t, "v.yaml", text), nil)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].Hint != want) {
			t.Errorf("%s: %s", text, faults(got))
		}
	}
}

// TestFits has defaults that do not match the shape of the apparent sink. Their
// actual sink must be another one.
func TestFits(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      securityContext:\n        {{- toYaml .Values.sc | nindent 8 }}\n      tolerations:\n      {{- toYaml .Values.list | nindent 6 }}\n"
	for values, closed := range map[string]bool{
		"sc: {}\nlist: []":                       true,
		"sc: {fsGroup: 1}\nlist: [{key: a}]":     true,
		"sc: ''\nlist: []":                       true,
		"sc: null\nlist: null":                   true,
		"sc: {other: 1}\nlist: []":               false,
		"sc: {fsGroup: 1, other: 1}\nlist: []":   false,
		"sc: {fsGroup: 1, used: 1}\nlist: []":    true,
		"sc: [a]\nlist: []":                      false,
		"sc: some text\nlist: []":                false,
		"sc: {fsGroup: 1}\nlist: [{kez: a}]":     true,
		"sc: {seLinuxOptions: {x: 1}}\nlist: {}": true,
	} {
		typ := derive(t, fleetChart(map[string]string{"values.yaml": values, "templates/x.yaml": deployment + "{{ if .Values.sc.used }}{{ end }}"}))
		if at, _ := typ.At("sc"); at.shape.closed() != closed {
			t.Errorf("%q: closed %v", values, at.shape.closed())
		}
		list, _ := typ.At("list")
		if got, want := list.shape != nil, !strings.Contains(values, "kez") && !strings.Contains(values, "list: {}"); got != want {
			t.Errorf("%q: the list is that of Kubernetes: %v", values, got)
		}
	}
}
