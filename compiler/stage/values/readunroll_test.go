package values

import (
	"strings"
	"testing"
)

// TestLoopOverAllValues has a chart whose loop over all values finds parts of
// them by name, in helpers. A part can have one ingress, or one per component.
func TestLoopOverAllValues(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml": `
global: {}
name: ''
agent: {enabled: true, spec: {port: 80, labels: {}}, ingress: {enabled: false, path: /, hosts: []}}
cluster: {enabled: true, spec: {vminsert: {port: 80}, select: {port: 80}}, ingress: {insert: {enabled: true, path: /}, select: {enabled: true, path: /}}}
other: {enabled: true, size: 3}
`,
		"templates/_helpers.tpl": `
{{ define "port" }}{{ $key := "" }}{{ with .key }}{{ $key = ternary (list .) . (kindIs "string" .) }}{{ end }}
{{- $values := .root.Values }}{{ range $k := $key }}{{ if kindIs "map" $values }}{{ $values = index $values $k | default dict }}{{ end }}{{ end }}{{ $values.port }}{{ end }}`,
		"templates/ingress.yaml": `
{{- range $name, $config := .Values }}
{{- if and (kindIs "map" $config) (hasKey $config "ingress") $config.enabled }}
{{- $ingresses := $config.ingress }}{{ $key := list }}{{ $spec := $.Values }}
{{- if hasKey $ingresses "enabled" }}
{{- $ingresses = dict $name $ingresses }}{{ $key = list $name }}
{{- else }}
{{- $key = concat $key (list $name "spec") }}{{ $spec = dig $name "spec" (dict) (merge (dict) $.Values) }}
{{- end }}
{{- range $part, $ingress := $ingresses }}
{{- if $ingress.enabled }}
{{- if not (hasKey $spec $part) }}{{ $part = printf "vm%s" $part }}{{ end }}
a: {{ $ingress.path }} {{ join "," $ingress.hosts }} {{ include "port" (dict "root" $ "key" (append $key $part)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}`,
		"templates/other.yaml": "a: {{ .Values.agent.spec.port }} {{ toJson .Values.agent.spec.labels }} {{ .Values.other.size }} {{ .Values.other.enabled }} {{ .Values.name }} {{ toJson .Values.extra }}\n",
	}))
	for values, want := range map[string]string{
		"{agent: {ingress: {path: /a, hosts: [a]}}, cluster: {spec: {select: {port: 81}, vminsert: {port: 81}}}}": "",
		"cluster: {ingress: {storage: {enabled: true, path: /}}}":                                                 "",
		"{mine: {enabled: true, ingress: {path: /}, port: 80}, extra: {a: b}}":                                    "",
		"agent: {ingress: {pth: /}}":                   "values.agent.ingress.pth",
		"agent: {spec: {prot: 81}}":                    "values.agent.spec.prot",
		"cluster: {ingress: {insert: {paht: /}}}":      "values.cluster.ingress.insert.paht",
		"cluster: {ingress: {storage: {paht: /}}}":     "values.cluster.ingress.storage.paht",
		"other: {siez: 3}":                             "values.other.siez",
		"other: {fullname: a}":                         "values.other.fullname",
		"cluster: {ingress: {slect: {enabled: true}}}": "values.cluster.ingress.slect",
		"name: {a: b}":                                 "values.name",
	} {
		var got []string
		for _, f := range typ.Check(tree(t, "v.yaml", values), nil) {
			got = append(got, f.Path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", values, got, want)
		}
	}
}
