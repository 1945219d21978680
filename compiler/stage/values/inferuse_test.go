package values

import "testing"

// TestInferredArguments has templates that pass values to functions of one kind.
func TestInferredArguments(t *testing.T) {
	for _, c := range []inference{
		{
			"verbs", "flag: false\nword: ''\nport: 1\n", `{{ printf "%t" .Values.flag }}{{ printf "%s:%v" .Values.word .Values.port }}`,
			[]string{"flag: true", "word: a", "port: '2'"},
			[]string{"flag: maybe -> a bool", `flag: "true" -> write true without quotes`, `word: 7 -> write "7"`},
		},
		{
			"a function behind a test", "v: ''\n", `{{ $type := printf "%T" .Values.v }}{{ if eq $type "string" }}{{ trunc 3 .Values.v }}{{ else }}{{ .Values.v }}{{ end }}`,
			[]string{"v: a", "v: 7", "v: {a: b}"},
			nil,
		},
		{
			"lists", "names: []\nmore: []\nany: []\nobjects: []\nhosts: []\n", `{{ range .Values.hosts }}{{ tpl . $ }}{{ end }}{{ range uniq .Values.names }}{{ . }}{{ end }}{{ if has "a" .Values.more }}{{ end }}{{ range $k, $v := .Values.any }}{{ $k }}{{ end }}{{ range .Values.objects }}{{ toYaml . }}{{ end }}`,
			[]string{"names: [a]", "more: [b]", "any: {a: b}", "objects: {a: {b: c}}", "hosts: ['{{ .x }}']"},
			[]string{"names: {a: b} -> this is a map", "more: {a: b} -> this is a map", "hosts: {a: b} -> this is a map"},
		},
		{
			"maps", "config: {}\nmerged: {}\n", `{{ range keys .Values.config }}{{ . }}{{ end }}{{ toYaml (merge (dict "a" 1) .Values.merged) }}{{ if hasKey .Values.merged "b" }}{{ end }}`,
			[]string{"config: {a: b}", "merged: {c: d}"},
			[]string{"config: [a] -> this is a list", "merged: [a] -> this is a list", "config: text -> is a string"},
		},
		{
			"fields of elements that are printed, too", "extra: []\nitems: [{name: a}]\n",
			`{{ range .Values.extra }}{{ .name }}{{ toYaml . }}{{ end }}{{ range .Values.items }}{{ .name }}{{ toYaml . }}{{ end }}`,
			[]string{"extra: [{any: 1}]", "items: {b: {any: 1}}"},
			[]string{"extra: [a] -> expects a map", "items: {b: c} -> expects a map"},
		},
	} {
		c.test(t)
	}
}

// TestInferredParts has lists and maps in a map that the chart passes on as a
// whole.
func TestInferredParts(t *testing.T) {
	inference{
		"parts", "spec: {list: [], map: {}, items: [a]}\n", "kind: Own\nspec:\n  {{- tpl (toYaml .Values.spec) . | nindent 2 }}\n",
		[]string{"spec: {list: [a], map: {b: c}, other: text}", "spec: {list: '{{ .x }}'}"},
		[]string{"spec: {list: text} -> a list", "spec: {map: text} -> a map", "spec: {map: [a]} -> expects", "spec: {items: text} -> a list"},
	}.test(t)
	inference{
		"names of custom resources", "on: false\nevery: ''\nlabels: {}\nrelabel: []\n",
		"apiVersion: example.com/v1\nkind: Monitor\nmetadata:\n  labels:\n    {{- toYaml .Values.labels | nindent 4 }}\nspec:\n  endpoints:\n  - honorLabels: {{ .Values.on }}\n    interval: {{ .Values.every }}\n    relabelings:\n      {{- toYaml .Values.relabel | nindent 6 }}\n",
		[]string{"on: true", "every: 30s", "labels: {a: b}", "relabel: [{action: drop}]"},
		[]string{"on: maybe -> a bool", "every: 30 -> only a string is valid", "labels: {a: 1} -> only a string is valid", "relabel: {action: drop} -> a list"},
	}.test(t)
}

// TestInferredText has values that templates print without conversion. A map or a
// list there has Go's syntax.
func TestInferredText(t *testing.T) {
	inference{
		"without conversion", "tag: ''\nport: 1\nboth: ''\nmap: {}\nkind: ''\n",
		"a: x:{{ .Values.tag }}\nb: {{ .Values.none | quote }}\nc: {{ .Values.both }}\nd: {{ toJson .Values.both }}\ne: {{ .Values.map }}\n" +
			"f: {{ if kindIs \"string\" .Values.kind }}{{ .Values.kind }}{{ else }}{{ toJson .Values.kind }}{{ end }}\n",
		[]string{"tag: 7", "tag: x", "none: true", "both: [a]", "map: {a: b}", "kind: [a]"},
		[]string{"tag: [a] -> prints it as text", "tag: {a: b} -> write a single value", "none: [a] -> prints it as text"},
	}.test(t)
	inference{
		"fields that are maps in all kinds", "tls: {}\ndns: {}\n",
		"apiVersion: example.com/v1\nkind: Monitor\nspec:\n  endpoints:\n  - tlsConfig:\n      {{- toYaml .Values.tls | nindent 6 }}\n  dnsConfig:\n    {{- toYaml .Values.dns | nindent 4 }}\n",
		[]string{"tls: {caFile: x}", "dns: {nameservers: [a]}"},
		[]string{"tls: [a] -> a map", "dns: {nameserverss: [a]} -> did you mean nameservers?"},
	}.test(t)
}

// TestInferredDocuments has values that templates print as whole documents.
func TestInferredDocuments(t *testing.T) {
	inference{
		"documents", "extra: []\nmore: []\nlines: []\n",
		"kind: A\n{{ range .Values.extra }}\n---\n{{ tpl (toYaml .) $ }}\n{{ end }}\n---\nb:\n{{ range .Values.lines }}{{ toYaml . }}\n{{ end }}\n---\n{{ range .Values.more }}\n{{ toYaml . }}\nc: d\n---\n{{ end }}\n",
		[]string{"extra: [{a: b}]", "extra: ['a: b']", "extra: {x: {a: b}}", "lines: [a]"},
		[]string{"extra: [a] -> write a map", "extra: {a: b} -> write a map"},
	}.test(t)
}

// TestInferredApart has a chart that reads all its values through a computed
// key. The functions behind that key do not restrict each of the values.
func TestInferredApart(t *testing.T) {
	inference{
		"apart", "a: {replicas: 1}\nb: {replicas: 2}\nport: 80\non: true\n",
		`{{ range $k := splitList "," .Release.Name }}{{ $v := index $.Values $k }}{{ $v | trunc 3 }}{{ if eq $v "x" }}{{ end }}{{ end }}` +
			"\n---\napiVersion: v1\nkind: Service\nspec:\n  ports:\n  - port: {{ .Values.port }}\n  publishNotReadyAddresses: {{ .Values.on }}\n",
		[]string{"port: 81", "on: false"},
		[]string{"port: three -> an integer", "on: maybe -> a bool"},
	}.test(t)
}
