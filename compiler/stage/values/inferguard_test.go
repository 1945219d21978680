package values

import "testing"

// TestInferredBesideTests has templates that test the kind of a value for one sink,
// and print it to another sink in any case: the condition of the other sink holds.
func TestInferredBesideTests(t *testing.T) {
	service := "apiVersion: v1\nkind: Service\nspec:\n  ports:\n  - port: {{ .Values.port }}\n---\n"
	ingress := func(body string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nspec:\n  defaultBackend:\n    service:\n      port:\n" + body
	}
	nameOrNumber := `        {{- if kindIs "string" $port }}
        name: {{ $port }}
        {{- else }}
        number: {{ $port }}
        {{- end }}
`
	for _, c := range []inference{
		{
			"the port of a Service and of an Ingress", "port: 80\n",
			service + "{{- $port := .Values.port }}\n" + ingress(nameOrNumber),
			[]string{"port: 8080", "port: '8080'", "port: null"},
			[]string{"port: http -> hint: write an integer, such as 80", "port: true -> write a number"},
		},
		{
			"the port of an Ingress alone", "port: 80\n",
			"{{- $port := .Values.port }}\n" + ingress(nameOrNumber),
			[]string{"port: 8080", "port: http"},
			nil,
		},
		{
			"a test whose result is used elsewhere", "port: 80\n",
			"{{- $isName := kindIs \"string\" .Values.port }}{{ if not $isName }}\n" + service + "{{ end }}",
			[]string{"port: 8080", "port: http"},
			nil,
		},
		{
			"a test in a helper", "port: 80\n",
			"{{- define \"named\" }}{{ if kindIs \"string\" . }}true{{ end }}{{ end }}{{ if not (include \"named\" .Values.port) }}\n" + service + "{{ end }}",
			[]string{"port: 8080", "port: http"},
			nil,
		},
		{
			"a test in a helper for all arguments", "count: 1\n",
			"{{- define \"arg\" }}{{ .key }}={{ .value }}{{ end }}" +
				"{{- define \"args\" }}{{ range $key, $value := . }}{{ if kindIs \"slice\" $value }}{{ range $value }}{{ include \"arg\" (dict \"key\" $key \"value\" .) }}{{ end }}" +
				"{{ else }}{{ include \"arg\" (dict \"key\" $key \"value\" $value) }}{{ end }}{{ end }}{{ end }}" +
				"{{- $args := dict }}{{ $_ := set $args \"members\" .Values.count }}args: [{{ include \"args\" $args }}]\n---\n" +
				"apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: {{ .Values.count }}\n",
			[]string{"count: 2", "count: '2'"},
			[]string{"count: three -> an integer", "count: [1] -> an integer"},
		},
		{
			"a test that refuses values", "replicas: 1\n",
			"{{- define \"replicas\" }}{{ if and (not (kindIs \"invalid\" .)) (not (kindIs \"string\" .)) }}{{ if eq (int .) 0 }}{{ fail \"no replicas\" }}{{ end }}{{ end }}\n{{- . -}}\n{{- end -}}\n" +
				"apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: {{ template \"replicas\" .Values.replicas }}\n",
			[]string{"replicas: 2", "replicas: '2'", "replicas: null"},
			[]string{"replicas: three -> an integer", "replicas: true -> write a number"},
		},
		{
			"a test that refuses values or prints them", "replicas: 1\n",
			"{{ if kindIs \"string\" .Values.replicas }}\nname: {{ .Values.replicas }}\n{{ else if lt .Values.replicas 0 }}{{ fail \"negative\" }}{{ else }}\n" +
				"---\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: {{ .Values.replicas }}\n{{ end }}",
			[]string{"replicas: 2", "replicas: all"},
			nil,
		},
		{
			"tests in the caller of a helper", "port: 80\n",
			"{{- define \"service\" }}\n" + service + "{{ end }}{{ if not (kindIs \"string\" .Values.port) }}{{ include \"service\" . }}{{ end }}",
			[]string{"port: 8080", "port: http"},
			nil,
		},
	} {
		c.test(t)
	}
}

// TestInferredByTest has values that templates print only where they are of one
// kind: they ignore values of other kinds.
func TestInferredByTest(t *testing.T) {
	for _, c := range []inference{
		{
			"a bool", "host: null\nlinks: null\n",
			"{{ if kindIs \"bool\" .Values.host }}\nhostUsers: {{ .Values.host }}\n{{ end }}{{ if (kindIs \"bool\" .Values.links) }}\nlinks: {{ .Values.links }}\n{{ end }}",
			[]string{"host: true", "host: false", "host: null", "links: false"},
			[]string{`host: "yes" -> a bool`, "host: 1 -> a bool", "host: [a] -> a bool", "links: [1] -> a bool"},
		},
		{
			"a test beside others", "a: null\nb: null\nc: null\nd: null\n",
			`{{ if kindIs "bool" .Values.a }}a: {{ .Values.a }}{{ else }}a: {{ .Values.a | quote }}{{ end }}
{{ if and .Values.x (kindIs "bool" .Values.b) }}b: {{ .Values.b }}{{ end }}{{ if .Values.b }}b{{ end }}
{{ if not (kindIs "bool" .Values.c) }}c: {{ .Values.c }}{{ end }}
{{ if kindIs "bool" .Values.d }}d: {{ .Values.d }}{{ end }}{{ with .Values.d }}d: {{ . }}{{ end }}`,
			[]string{"a: b", "b: b", "c: b", "d: b"},
			nil,
		},
		{
			"one kind after the other", "a: null\n",
			`{{ if kindIs "string" .Values.a }}a: {{ .Values.a }}{{ else if kindIs "slice" .Values.a }}a: {{ toYaml .Values.a }}{{ end }}`,
			[]string{"a: b", "a: [b]"},
			nil,
		},
	} {
		c.test(t)
	}
}

// TestInferredListOrMap has values whose elements have other types in a list than in a map.
func TestInferredListOrMap(t *testing.T) {
	byName := `{{ range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ tpl $value $ | quote }}
{{ end }}`
	inOrder := `{{ range .Values.env }}
- name: {{ .name }}
  value: {{ .value | upper }}
{{ end }}`
	either := `{{ if kindIs "map" .Values.env }}` + byName + `{{ else if kindIs "slice" .Values.env }}` + inOrder + "{{ end }}"
	fine := []string{"env: [{name: a, value: b}]", "env: {a: b}", "env: {c: d}"}
	misspelt := "env: [{name: a, valeu: b}] -> did you mean value?"
	for _, c := range []inference{
		{"an empty list", "env: []\n", either, fine, []string{misspelt}},
		{"a list", "env: [{name: z, value: z}]\n", either, fine, []string{misspelt}},
		{"a map", "env: {a: z}\n", either, fine, []string{misspelt}},
		{"only a map", "env: {}\n", byName, fine[1:], []string{"env: {a: {b: c}} -> only a string is valid"}},
		{"only a list", "env: []\n", inOrder, fine[:1], []string{"env: [b] -> expects a map"}},
	} {
		c.test(t)
	}
}

// TestInferredYAML has a map with the fields of Kubernetes that can also be its YAML.
func TestInferredYAML(t *testing.T) {
	inference{
		"a map or its YAML", "affinity: {}\n",
		`apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      affinity:
        {{- if kindIs "map" .Values.affinity }}
        {{- toYaml .Values.affinity | nindent 8 }}
        {{- else }}
        {{- tpl .Values.affinity $ | nindent 8 }}
        {{- end }}
`,
		[]string{"affinity: {nodeAffinity: {}}", "affinity: 'nodeAffinity: {}'", `affinity: '{{ include "a" . }}'`, "affinity: ''"},
		[]string{"affinity: three -> a map", "affinity: {nodeAfinity: {}} -> nodeAffinity"},
	}.test(t)
}

// TestJoined has values that templates join to one text.
func TestJoined(t *testing.T) {
	for _, c := range []inference{
		{
			"parts of an image", "registry: ''\nimage: {tag: '', name: app}\nlist: []\ncsv: ''\n",
			`image: {{ join "/" (compact (list (default "docker.io" .Values.registry) .Values.image.name)) }}{{ join ":" (list "" .Values.image.tag) }}
list: {{ join "," .Values.list }} {{ .Values.csv | join "," }} {{ join "," (concat .Values.list (list "a")) }}`,
			[]string{"registry: a", "image: {tag: 1}", "image: {tag: v1}", "list: [a, 1]", "csv: [a]", "csv: a", "registry: ''"},
			[]string{"registry: [a] -> the chart prints it as text", "registry: {a: b} -> the chart prints it as text", "image: {tag: [a]} -> as text"},
		},
	} {
		c.test(t)
	}
}
