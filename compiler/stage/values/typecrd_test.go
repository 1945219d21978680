package values

import "testing"

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
		"spec: {shcedule: a} -> did you mean schedule?", "spec: {keep: three} -> a whole number", "spec: {mode: full} -> Full", "spec: {paused: 'yes'} -> a bool", "spec: {schedule: 7} -> text",
		"spec: {targets: [{nmae: a}]} -> did you mean name?", "spec: {labels: {a: 1}} -> text", "spec: {config: [a]} -> a map", "keep: three -> a whole number", "mode: Half -> Full", "targets: {name: a} -> a list",
	}
	check := func(files map[string]string, right, wrong []string) {
		typ := derive(t, fleetChart(files))
		for _, text := range right {
			if got := typ.Check(tree(t, "v.yaml", text), nil, nil); len(got) > 0 {
				t.Errorf("%s: %s", text, faults(got))
			}
		}
		wrongly(t, typ, wrong)
	}
	check(files, right, wrong)
	files["crds/backup.yaml"] = "kind: Backup\n"
	check(files, append(right, "spec: {any: 1}"), nil)
}
