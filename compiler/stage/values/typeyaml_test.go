package values

import (
	"slices"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// TestTextForCollection checks texts in place of a list or a map: the text must
// be the YAML of one, or contain a template.
func TestTextForCollection(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": `
tolerations: []
nodeSelector: {}
extra: []
config: {}
command: []
`,
		"templates/x.yaml": `apiVersion: v1
kind: Pod
metadata: {name: x}
spec:
  nodeSelector: {{ toYaml .Values.nodeSelector | nindent 4 }}
  tolerations: {{ tpl (toYaml .Values.tolerations) . | nindent 4 }}
---
{{ tpl .Values.extra . }}
---
apiVersion: example.org/v1
kind: Config
spec: {{ toYaml .Values.config | nindent 2 }}
{{ if kindIs "string" .Values.command }}
command: {{ .Values.command }}
{{ else }}
command: {{ toYaml .Values.command | nindent 2 }}
{{ end }}
`,
	}))
	for _, c := range []struct{ text, path, hint string }{
		{text: `tolerations: some text`, path: "values.tolerations", hint: "write a list, such as [...]"},
		{text: `nodeSelector: some text`, path: "values.nodeSelector", hint: "write a map, such as {key: value}"},
		{text: `extra: some text`, path: "values.extra", hint: "write a list, such as [...]"},
		{text: `config: some text`, path: "values.config", hint: "write a map, such as {key: value}"},
		{text: `command: some text`},
		{text: `extra: "- a\n- b"`},
		{text: `extra: "[a, b]"`},
		{text: `extra: "- {{ .Release.Name }}"`},
		{text: `config: "a: b"`},
		{text: `config: ""`},
	} {
		faults := typ.Check(tree(t, "v.yaml", c.text), nil)
		ok := c.path == "" && len(faults) == 0 || len(faults) == 1 && slices.ContainsFunc(faults, func(d *diag.Diag) bool { return d.Path == c.path && d.Hint == c.hint })
		if !ok {
			t.Errorf("%s: %v", c.text, faults)
		}
	}
}

// TestComputedKeyOfAll has helpers that read each component through a computed
// key of all values. Such reads must not change the kinds of unrelated values.
// The elements of an iterated map can have the kinds that the template tests
// for.
func TestComputedKeyOfAll(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": `
server: {enabled: true, port: 80, hosts: [], name: web}
agent: {enabled: false, port: 81, hosts: [], name: agent}
ports: {http: 80}
`,
		"templates/_helpers.tpl": `
{{- define "name" -}}
{{- $values := .helm.Values -}}
{{- range $key := .path -}}
{{- $values = index $values $key -}}
{{- if kindIs "map" $values -}}{{ $values.fullnameOverride }}{{- end -}}
{{- end -}}
{{- end -}}
`,
		"templates/x.yaml": `
{{ range $name, $app := .Values }}
{{ include "name" (dict "helm" $ "path" (list $name "name")) }}
{{ end }}
{{ if .Values.server.enabled }}{{ .Values.server.port }}{{ range .Values.server.hosts }}{{ . }}{{ end }}{{ .Values.server.name }}{{ end }}
{{ range $name, $port := .Values.ports }}
{{ if kindIs "map" $port }}{{ $port.number }}{{ else }}{{ $port }}{{ end }}
{{ end }}
`,
	}))
	for text, faults := range map[string]int{
		"server: {enabled: {a: b}}":       1,
		"server: {port: {a: b}}":          1,
		"server: {name: {a: b}}":          1,
		"server: {hosts: [a], port: 90}":  0,
		"ports: {http: {number: 8080}}":   0,
		"server: {fullnameOverride: web}": 0,
	} {
		if got := typ.Check(tree(t, "v.yaml", text), nil); len(got) != faults {
			t.Errorf("%s: %v", text, got)
		}
	}
}
