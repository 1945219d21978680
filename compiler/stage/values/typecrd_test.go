package values

import (
	"strings"
	"testing"
)

// crdFile defines the kind Backup with a few fields.
const crdFile = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: backups.example.com
spec:
  group: example.com
  names:
    kind: Backup
    plural: backups
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              schedule:
                type: string
              keep:
                type: integer
              mode:
                type: string
                enum:
                - Full
                - Partial
              paused:
                type: boolean
              targets:
                type: array
                items:
                  type: object
                  properties:
                    name:
                      type: string
              limit:
                x-kubernetes-int-or-string: true
              labels:
                type: object
                additionalProperties:
                  type: string
              config:
                type: object
                x-kubernetes-preserve-unknown-fields: true
`

// TestInferredFromCRDs has a chart that prints values into a resource of a CRD
// in its crds directory.
func TestInferredFromCRDs(t *testing.T) {
	files := map[string]string{
		"crds/backup.yaml": crdFile,
		"values.yaml":      "spec: {}\nkeep: null\nmode: ''\ntargets: []\n",
		"templates/x.yaml": "apiVersion: example.com/v1\nkind: Backup\nmetadata:\n  name: a\nspec:\n  {{- toYaml .Values.spec | nindent 2 }}\n" +
			"---\napiVersion: example.com/v1\nkind: Backup\nmetadata:\n  name: b\nspec:\n  keep: {{ .Values.keep }}\n  mode: {{ .Values.mode }}\n  targets:\n    {{- toYaml .Values.targets | nindent 4 }}\n",
	}
	right := []string{
		"spec: {schedule: a, keep: 1, mode: Full, paused: true, targets: [{name: a}], limit: 10%, labels: {a: b}, config: {a: {b: 1}}}",
		"{keep: 3, mode: Partial, targets: [{name: a}]}",
	}
	wrong := []string{
		"spec: {shcedule: a} -> did you mean schedule?", "spec: {keep: three} -> an integer", "spec: {mode: full} -> Full", "spec: {paused: 'yes'} -> a bool", "spec: {schedule: 7} -> a string",
		"spec: {targets: [{nmae: a}]} -> did you mean name?", "spec: {labels: {a: 1}} -> a string", "spec: {config: [a]} -> a map", "keep: three -> an integer", "mode: Half -> Full", "targets: {name: a} -> a list",
	}
	check := func(files map[string]string, right, wrong []string) {
		typ := derive(t, fleetChart(files))
		for _, text := range right {
			if got := typ.Check(tree(t, "v.yaml", text), nil); len(got) > 0 {
				t.Errorf("%s: %s", text, faults(got))
			}
		}
		wrongly(t, typ, wrong)
	}
	check(files, right, wrong)
	files["crds/backup.yaml"] = "kind: Backup\n"
	check(files, append(right, "spec: {any: 1}"), nil)
}

// TestInferredFromCommonCRDs has a chart that prints values into a route of the
// Gateway API, whose kind the values can replace, and into a ServiceMonitor. The
// chart has no CRDs.
func TestInferredFromCommonCRDs(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml": "route: {apiVersion: '', kind: '', matches: [], rules: []}\nrelabelings: []\nauth: {}\n",
		"templates/route.yaml": "apiVersion: {{ .Values.route.apiVersion | default \"gateway.networking.k8s.io/v1\" }}\nkind: {{ .Values.route.kind | default \"HTTPRoute\" }}\nspec:\n  rules:\n" +
			"    {{- toYaml .Values.route.rules | nindent 4 }}\n    - name: main\n      matches:\n        {{- toYaml .Values.route.matches | nindent 8 }}\n",
		"templates/monitor.yaml": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nspec:\n  endpoints:\n    -\n" +
			"      basicAuth: {{ toYaml .Values.auth | nindent 8 }}\n      relabelings: {{ toYaml .Values.relabelings | nindent 8 }}\n",
	}))
	for _, text := range []string{
		"route: {kind: GRPCRoute, matches: [{method: {service: a}, path: {type: Exact, value: /}}], rules: [{matches: []}]}",
		"{relabelings: [{sourceLabels: [a], targetLabel: b, action: keep}], auth: {username: {name: a, key: b}}}",
		"route: {matches: [{aFieldOfLaterVersions: 1}]}",
	} {
		if got := typ.Check(tree(t, "v.yaml", text), nil); len(got) > 0 {
			t.Errorf("%s: %s", text, faults(got))
		}
	}
	wrongly(t, typ, []string{
		"route: {matches: [{paht: {value: /}}]} -> did you mean path?", "route: {matches: {path: {}}} -> a list", "route: {rules: [{matches: [{path: {vaule: /}}]}]} -> did you mean value?",
		"relabelings: [{sourceLabel: [a]}] -> did you mean sourceLabels?", "relabelings: [{sourceLabels: a}] -> a list", "auth: {usernme: {}} -> did you mean username?",
	})
}

// TestInferredFromAlternativeKinds has a chart with two CRDs of which a value
// chooses one.
func TestInferredFromAlternativeKinds(t *testing.T) {
	full := strings.NewReplacer("kind: Backup", "kind: FullBackup", "schedule", "rotation").Replace(crdFile)
	typ := derive(t, fleetChart(map[string]string{
		"crds/backup.yaml": crdFile, "crds/full.yaml": full,
		"values.yaml": "kind: ''\nspec: {}\nother: {}\n",
		"templates/x.yaml": "apiVersion: example.com/v1\nkind: {{ ternary \"Backup\" .Values.kind (empty .Values.kind) }}\nspec: {{ toYaml .Values.spec | nindent 2 }}\n" +
			"---\napiVersion: example.com/v1\nkind: {{ .Values.kind | default \"FullBackup\" }}\nspec: {{ toYaml .Values.other | nindent 2 }}\n",
	}))
	for _, text := range []string{"spec: {schedule: a, keep: 1}", "spec: {rotation: a}", "other: {rotation: a, schedule: b}"} {
		if got := typ.Check(tree(t, "v.yaml", text), nil); len(got) > 0 {
			t.Errorf("%s: %s", text, faults(got))
		}
	}
	wrongly(t, typ, []string{"spec: {shcedule: a} -> did you mean schedule?", "spec: {keep: three} -> an integer", "other: {rotatoin: a} -> did you mean rotation?"})
}
