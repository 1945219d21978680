package values

import "testing"

// TestInferredEnums has values whose sinks are Kubernetes fields that accept
// only a few texts.
func TestInferredEnums(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec:\n"
	for _, c := range []inference{
		{
			"the type of a service", "service: {type: ClusterIP}\n", service + "  type: {{ .Values.service.type }}",
			[]string{"service: {type: LoadBalancer}", "service: {type: ''}", `service: {type: "{{ .Values.x }}"}`},
			[]string{"service: {type: Loadbalancer} -> did you mean LoadBalancer?", "service: {type: Ingress} -> use one of ClusterIP"},
		},
		{
			"quoted", "type: ClusterIP\npolicy: Local\n", service + "  type: {{ .Values.type | quote }}\n  externalTrafficPolicy: {{ .Values.policy | default \"Local\" | squote }}",
			[]string{"type: LoadBalancer", "type: ''", "policy: Cluster"},
			[]string{"type: Loadbalancer -> did you mean LoadBalancer?", "policy: Clustr -> did you mean Cluster?"},
		},
		{
			"a word that the template has", "service: {type: ClusterIP}\n",
			"{{ if ne .Values.service.type \"None\" }}{{ if has .Values.service.type (list \"Headless\") }}{{ end }}" + service + "  type: {{ .Values.service.type }}{{ end }}",
			[]string{"service: {type: None}", "service: {type: Headless}"},
			[]string{"service: {type: Nune} -> did you mean None?"},
		},
		{
			"text that the template changes", "service: {type: clusterip}\n", service + "  type: {{ if eq .Values.service.type \"lb\" }}LoadBalancer{{ else }}{{ title .Values.service.type }}{{ end }}",
			[]string{"service: {type: nodePort}"},
			nil,
		},
		{
			"a default that Kubernetes does not take", "service: {type: Internal}\n", service + "  type: {{ .Values.service.type }}",
			[]string{"service: {type: Any}"},
			nil,
		},
		{
			"a part of an object", "securityContext: {}\ntolerations: []\n",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  tolerations:\n    {{- toYaml .Values.tolerations | nindent 4 }}\n  securityContext:\n    {{- toYaml .Values.securityContext | nindent 4 }}\n",
			[]string{"securityContext: {seccompProfile: {type: RuntimeDefault}}", "tolerations: [{operator: Exists, effect: NoSchedule}]"},
			[]string{"tolerations: [{operator: Exist}] -> did you mean Exists?", "securityContext: {fsGroupChangePolicy: always} -> did you mean Always?"},
		},
	} {
		c.test(t)
	}
}
