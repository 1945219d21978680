package values

import "testing"

// TestInferredTexts has values whose sinks take texts only.
func TestInferredTexts(t *testing.T) {
	pod := func(lines string) string { return "apiVersion: v1\nkind: Pod\n" + lines }
	for _, c := range []inference{
		{
			"a text field", "bare: ''\nquoted: ''\nport: http\n",
			pod("spec:\n  nodeName: {{ .Values.bare }}\n  schedulerName: {{ .Values.quoted | quote }}\n  containers:\n  - livenessProbe:\n      httpGet:\n        port: {{ .Values.port }}\n"),
			[]string{"bare: b", "quoted: 7", "port: 80"},
			[]string{"bare: 7 -> 7 is a number", "bare: true -> true is a bool", "bare: [a] -> this is a list"},
		},
		{
			"texts by key", "a: {}\nl: {x: v}\nsel: {}\n",
			pod("metadata:\n  annotations:\n    {{- toYaml .Values.a | nindent 4 }}\n  labels:\n    {{- toYaml .Values.l | nindent 4 }}\nspec:\n  nodeSelector: {{ toYaml .Values.sel | nindent 4 }}\n"),
			[]string{"a: {b: c}", "a: {b: null}", "a: {port: '80'}", "l: {z: a}"},
			[]string{`a: {port: 80} -> hint: write "80"`, "l: {x: true} -> is a bool", "l: {z: 1} -> only a string is valid", "sel: {on: true} -> only a string is valid"},
		},
		{
			"texts by key in one of two objects", "sel: {}\n",
			"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nspec:\n  podSelector: {}\n  ingress:\n  - from:\n    - podSelector:\n        {{- toYaml .Values.sel | nindent 8 }}\n---\n" +
				"apiVersion: example.com/v2\nkind: OwnNetworkPolicy\nspec:\n  endpointSelector: {}\n  ingress:\n  - fromEndpoints:\n    - matchLabels:\n        {{- toYaml .Values.sel | nindent 8 }}\n",
			[]string{"sel: {matchLabels: {a: b}}", "sel: {app: a}"},
			[]string{"sel: [a] -> a map"},
		},
		{
			"numbers by key", "a: {x: 1}\n", pod("metadata:\n  annotations:\n    {{- toYaml .Values.a | nindent 4 }}\n"),
			[]string{"a: {x: 2}", "a: {y: b}"},
			nil,
		},
		{
			"a function of a text", "cut: ''\nprefix: ''\nrendered: ''\nmode: ''\n",
			`{{ .Values.cut | trunc 63 | trimSuffix "-" }}{{ if hasPrefix "x" .Values.prefix }}{{ end }}{{ tpl .Values.rendered . }}{{ if eq .Values.mode "b" }}{{ end }}`,
			[]string{"cut: b", "rendered: '{{ .x }}'", "mode: c"},
			[]string{"cut: 7 -> is a number", "prefix: 7 -> is a number", "rendered: 7 -> is a number", "mode: 7 -> is a number", "cut: {a: b} -> is a map"},
		},
		{
			"numbers between quotes", "name: a\nboth: a\nplain: a\n", "data:\n  x: |\n    name: \"{{ .Values.name }}\"\n    both: '{{ .Values.both }}'\n    b: {{ .Values.both }}\n    plain: {{ .Values.plain }}\n",
			[]string{"name: 0", "name: 123456", "name: b"},
			[]string{"name: 1.10 -> write \"1.1", "name: 12345678 -> is a number", "name: true -> is a bool", "both: 0 -> is a number", "plain: 0 -> is a number"},
		},
		{
			"numbers where Kubernetes accepts both", "cpu: 100m\nmem: 64Mi\narg: 64Mi\nport: http\nnote: a\npull: Always\n",
			pod("metadata:\n  annotations:\n    a: {{ .Values.note | quote }}\nspec:\n  containers:\n  - imagePullPolicy: {{ .Values.pull | quote }}\n    args:\n    - --mem={{ .Values.arg }}\n    livenessProbe:\n      httpGet:\n        port: {{ .Values.port }}\n    resources:\n      requests:\n        cpu: {{ .Values.cpu }}\n        memory: {{ .Values.mem | quote }}\n      limits:\n        memory: {{ .Values.arg }}\n"),
			[]string{"cpu: 1", "cpu: 0.5", "mem: 67108864", "port: 80", "note: 6"},
			[]string{"cpu: true -> is a bool", "pull: 6 -> is a number", "arg: 67108864 -> is a number", "note: 1.10 -> write \"1.1", "note: 12345678 -> is a number"},
		},
		{
			"shares", "surge: 25%\n", "apiVersion: apps/v1\nkind: Deployment\nspec:\n  strategy:\n    rollingUpdate:\n      maxSurge: {{ .Values.surge }}\n",
			[]string{"surge: 1", "surge: 50%"},
			[]string{"surge: true -> is a bool"},
		},
		{
			"print", "namespace: ''\nhosts: []\n", `{{ print "--namespace=" .Values.namespace }} {{ print .Values.hosts }}`,
			[]string{"namespace: b", "namespace: 7", "hosts: [a]"},
			[]string{"namespace: {a: b} -> prints it as text", "namespace: [a] -> prints it as text"},
		},
		{
			"a number or a text", "probe: {}\nport: 80\n",
			pod("spec:\n  containers:\n  - livenessProbe:\n      {{- toYaml .Values.probe | nindent 6 }}\n    readinessProbe:\n      httpGet:\n        port: \"{{ .Values.port }}\"\n"),
			[]string{"probe: {httpGet: {port: http}}", "probe: {httpGet: {port: '{{ .x }}'}}", "port: http"},
			[]string{"probe: {httpGet: {port: true}} -> hint: write a number or a string", "probe: {httpGet: {port: [80]}} -> a number or a string"},
		},
		{
			"a conversion before", "cut: ''\nmode: ''\n", `{{ .Values.cut | toString | trunc 63 }}{{ if eq (.Values.mode | toString) "b" }}{{ end }}`,
			[]string{"cut: 7", "mode: 7"},
			nil,
		},
		{
			"a text and something else", "v: ''\nw: ''\n", pod("spec:\n  hostNetwork: {{ .Values.v }}\n  x: {{ trimSuffix \"x\" .Values.v }}\n  nodeName: {{ if kindIs \"string\" .Values.w }}{{ .Values.w }}{{ end }}\n"),
			[]string{"v: true", "v: 'true'", "w: 1"},
			nil,
		},
	} {
		c.test(t)
	}
}

// TestInferredElements has templates that read the elements of lists and maps
// whose default is empty.
func TestInferredElements(t *testing.T) {
	for _, c := range []inference{
		{
			"fields of elements", "jobs: {}\nhosts: []\n",
			`{{ range $name, $job := .Values.jobs }}{{ $name }}{{ if $job.enabled }}{{ $job.image.tag }}{{ range $job.args }}{{ . }}{{ end }}{{ end }}{{ end -}}
{{ range .Values.hosts }}{{ .name }}{{ range .paths }}{{ .path }}{{ end }}{{ end }}`,
			[]string{"jobs: {a: {enabled: true, image: {tag: x}, args: [b]}}", "hosts: [{name: a, paths: [{path: /}]}]"},
			[]string{
				"jobs: {a: {enabeld: true}} -> did you mean enabled?", "jobs: {a: {image: {tga: x}}} -> no such value", "jobs: {a: {image: x}} -> expects a map", "jobs: {a: [b]} -> expects a map",
				"hosts: [{nmae: a}] -> no such value", "hosts: [{name: a, paths: [{pth: /}]}] -> no such value", "hosts: [{paths: [a]}] -> expects a map",
			},
		},
		{
			"elements printed as a whole", "jobs: {}\nhosts: []\n", `{{ range .Values.jobs }}{{ .name }}{{ toYaml . }}{{ end }}{{ toYaml .Values.hosts }}{{ range .Values.hosts }}{{ .name }}{{ end }}`,
			[]string{"jobs: {a: {any: 1}}", "hosts: [{any: 1}]"},
			nil,
		},
		{
			"elements of several kinds", "hosts: []\n", `{{ range .Values.hosts }}{{ if eq (kindOf .) "string" }}{{ . }}{{ else }}{{ .name }}{{ end }}{{ end }}`,
			[]string{"hosts: [a, {name: b}]"},
			nil,
		},
		{
			"a line that begins with a value", "secrets: []\n", "kind: Secret\ndata:\n{{- range .Values.secrets }}\n  {{ .name }}: {{ .value | b64enc }}\n{{- end }}\n",
			[]string{"secrets: [{name: a, value: b}]"},
			[]string{"secrets: [{name: a, value: 1}] -> is a number"},
		},
	} {
		c.test(t)
	}
}

// TestInferredByKindName has templates that compare the name of a value's kind.
func TestInferredByKindName(t *testing.T) {
	annotations := func(test string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    " + test + "{{ tpl .Values.a . | nindent 4 }}{{ else }}{{ toYaml .Values.a | nindent 4 }}{{ end }}\n"
	}
	for _, test := range []string{
		`{{- if eq (typeOf .Values.a) "string" }}`, `{{- $kind := kindOf .Values.a }}{{ if eq $kind "string" }}`, `{{- if has (kindOf .Values.a) (list "string" "invalid") }}`,
		`{{- if eq (printf "%T" .Values.a) "string" }}`,
	} {
		inference{
			test, "a: {}\n", annotations(test),
			[]string{"a: {b: c}", "a: 'b: c'"},
			[]string{"a: text -> a map", "a: [b] -> a map"},
		}.test(t)
	}
	inference{
		"a map", "a: {}\n", annotations(`{{- if ne (kindOf .Values.a) "map" }}`),
		[]string{"a: {b: c}", "a: 'b: c'", "a: [b]"},
		nil,
	}.test(t)
}

// TestInferredBesideSchema has a schema that allows more than the sink takes.
func TestInferredBesideSchema(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml":        "a: {}\nn: 1\n",
		"values.schema.json": `{"properties": {"a": {"type": ["object", "string"]}, "n": {"type": ["integer", "string"]}}}`,
		"templates/x.yaml":   "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  annotations:\n    {{- toYaml .Values.a | nindent 4 }}\nspec:\n  replicas: {{ .Values.n }}\n",
	}))
	if got := typ.Check(tree(t, "v.yaml", "{a: {b: c}, n: '2'}"), nil); len(got) > 0 {
		t.Error(faults(got))
	}
	wrongly(t, typ, []string{"a: text -> a map", "a: {b: 1} -> only a string is valid", "n: three -> an integer", "a: [b] -> expects a string or a map"})
}

// TestInferredTemplateBesideSchema has a schema that allows text for lists. The
// chart passes the text to tpl where it prints the list's YAML.
func TestInferredTemplateBesideSchema(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml":        "init: []\nwords: []\n",
		"values.schema.json": `{"properties": {"init": {"type": ["array", "string"]}, "words": {"type": ["array", "string"]}}}`,
		"templates/x.yaml": "{{ with .Values.init }}\ninit:\n  {{- if kindIs \"slice\" . }}{{ tpl (toYaml .) $ | nindent 2 }}{{ else }}{{ tpl . $ | nindent 2 }}{{ end }}\n{{ end }}\n" +
			"words: {{ if kindIs \"string\" .Values.words }}{{ tpl .Values.words $ }}{{ else }}{{ join \",\" .Values.words }}{{ end }}\n",
	}))
	for _, fine := range []string{"init: [{name: a}]", "init: '- name: a'", "init: '{{ .x }}'", "init: ''", "words: a,b", "words: [a]"} {
		if got := typ.Check(tree(t, "v.yaml", fine), nil); len(got) > 0 {
			t.Error(fine, faults(got))
		}
	}
	wrongly(t, typ, []string{"init: text -> a list"})
}

// TestListsPrintedAsText has a chart that prints lists without conversion, as its
// default is one: Go's [a] is a YAML list, too.
func TestListsPrintedAsText(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml":      "auth: [public]\nname: a\nparams: []\n",
		"templates/x.yaml": "{{- range .Values.params }}\nauth: {{ .auth | default $.Values.auth }}\nname: {{ .name | default $.Values.name }}\n{{- end }}\n",
	}))
	for values, want := range map[string]string{
		"{params: [{auth: [private], name: b}], auth: [a]}": "",
		"params: [{auth: private}]":                         "",
		"params: [{name: [b]}]":                             "values.params[0].name",
		"name: [b]":                                         "values.name",
	} {
		if got := faultPaths(t, typ, values); got != want {
			t.Errorf("%s: got %q, want %q", values, got, want)
		}
	}
}
