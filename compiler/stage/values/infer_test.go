package values

import (
	"strings"
	"testing"
)

// An inference is a chart with values that a user could set, and the faults that
// Check reports for them.
type inference struct {
	name, values, template string
	fine                   []string // values that pass
	wrong                  []string // values with one fault; behind an arrow, a part of its message or hint
}

func (c inference) test(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		typ := derive(t, fleetChart(map[string]string{"values.yaml": c.values, "templates/x.yaml": c.template}))
		for _, text := range c.fine {
			if got := typ.Check(tree(t, "v.yaml", text), nil); len(got) > 0 {
				t.Errorf("%s: %s", text, faults(got))
			}
		}
		wrongly(t, typ, c.wrong)
	})
}

// wrongly checks that each line of values has one fault with the text behind the
// arrow.
func wrongly(t *testing.T, typ *Type, lines []string) {
	t.Helper()
	for _, line := range lines {
		text, want, _ := strings.Cut(line, " -> ")
		got := typ.Check(tree(t, "v.yaml", text), nil)
		if len(got) != 1 || !strings.Contains(faults(got), want) {
			t.Errorf("%s: want %q, got\n%s", text, want, faults(got))
		}
	}
}

// TestInferredKeys has templates that compute keys. Keys that callers pass, and
// keys that other values name, must not open a map.
func TestInferredKeys(t *testing.T) {
	for _, c := range []inference{
		{
			"a key that callers pass", "image: {name: a}\nreplicas: 1\nbridge: {image: {name: b}}\n",
			`{{ define "image" }}{{ $v := ternary .Values.image (index .Values .key).image (empty .key) }}{{ $v.name }}{{ $v.tag }}{{ $_ := unset . "key" }}{{ end -}}
image: {{ template "image" (set . "key" "") }}
bridge: {{ template "image" (set . "key" "bridge") }}
replicas: {{ .Values.replicas }}`,
			[]string{"image: {tag: x}", "bridge: {image: {tag: x}}"},
			[]string{"replica: 2 -> did you mean replicas?", "bridge: {image: {tga: x}} -> no such value", "imagee: {name: x} -> did you mean image?"},
		},
		{
			"the chart's dot or a dict with it", "nameOverride: ''\nserver: {name: s, args: {a: b}}\n",
			`{{ define "name" }}{{ $v := (.helm).Values | default .Values }}{{ $v.fullnameOverride | default $v.nameOverride }}{{ end -}}
{{ define "key" }}{{ $values := (.helm).Values | default .Values }}{{ $keys := ternary (list .key) .key (kindIs "string" .key) }}
{{- range $k := $keys }}{{ $values = index $values $k | default dict }}{{ if and (kindIs "map" $values) (index $values "name") }}{{ $values.name }}{{ end }}{{ end }}{{ end -}}
{{- $ctx := dict "helm" . "key" "server" -}}
name: {{ include "name" $ctx }}-{{ include "name" . }}-{{ include "key" $ctx }}
args: {{ range $k, $v := .Values.server.args }}{{ $k }}={{ $v }}{{ end }}`,
			[]string{"fullnameOverride: x", "server: {args: {any: 1}}"},
			[]string{"fulnameOverride: x -> did you mean", "server: {nmae: x} -> did you mean name?"},
		},
		{
			"a key that a value names", "mode: deployment\ndeployment: {spec: {a: 1}}\nstatefulSet: {spec: {a: 1}}\nreplicas: 1\n",
			`{{ $m := .Values.mode }}{{ toYaml (index .Values $m).spec }}{{ .Values.replicas }}`,
			[]string{"statefulSet: {spec: {b: 2}}", "{mode: own, own: {spec: {a: 1}}}"},
			[]string{"replica: 2 -> did you mean replicas?", "own: {spec: {a: 1}} -> no such value", "deployment: {sepc: {}} -> did you mean spec?"},
		},
		{
			"a table of names", "user: admin\nusers: {admin: {password: x}}\n", `{{ (index .Values.users .Values.user).password }}`,
			[]string{"users: {bob: {password: y}}"},
			nil,
		},
		{
			"keys of which nothing is known", "a: {x: 1}\n", `{{ range $k := splitList "." .Release.Name }}{{ (index $.Values $k).x }}{{ end }}`,
			[]string{"b: {x: 1}"},
			nil,
		},
	} {
		c.test(t)
	}
}

// TestGivenUp has templates that print all values of the chart and are too large
// to analyse. Every key may be read, so none is a fault.
func TestGivenUp(t *testing.T) {
	inference{
		"given up", "a: 1\n", "{{ toYaml .Values }}{{ define \"t\" }}" + strings.Repeat("{{ range $a, $b := . }}", maxNesting) +
			strings.Repeat("{{ end }}", maxNesting) + "{{ end }}{{ include \"t\" .Values.a }}",
		[]string{"b: 1", "c: {d: 1}"},
		nil,
	}.test(t)
}

// TestInferredForms has values whose sinks are Kubernetes fields or arithmetic.
// They must have the form that the sink takes.
func TestInferredForms(t *testing.T) {
	deployment := func(spec string) string { return "apiVersion: apps/v1\nkind: Deployment\nspec:\n" + spec }
	for _, c := range []inference{
		{
			"an integer", "replicas: 1\n", deployment("  replicas: {{ .Values.replicas }}\n"),
			[]string{"replicas: 3", "replicas: '3'", "replicas: null", "replicas: '{{ .Values.num }}'", "replicas: 1e3", "replicas: 1E+3"},
			[]string{
				`replicas: three -> hint: write an integer, such as 1`, `replicas: "1.5" -> expects an integer`, "replicas: true -> hint: write a number, such as 1",
				"replicas: [1] -> this is a list", "replicas: {a: 1} -> this is a map",
			},
		},
		{
			"an integer in a map", "sc: {runAsUser: 1}\n", deployment("  template:\n    spec:\n      securityContext:\n        {{- toYaml .Values.sc | nindent 8 }}\n"),
			[]string{"sc: {runAsUser: 2, runAsNonRoot: true}", "sc: {fsGroup: 3}"},
			[]string{
				`sc: {runAsUser: "2"} -> hint: write 2 without quotes`, "sc: {runAsUser: three} -> expects an integer", "sc: {runAsNonRoot: 'yes'} -> hint: write true or false",
				`sc: {runAsNonRoot: "true"} -> hint: write true without quotes`, "sc: {supplementalGroups: 1} -> a list", "sc: {fsGroup: [1]} -> an integer",
			},
		},
		{
			"elements of a list", "tolerations: []\nenv: []\n",
			deployment("  template:\n    spec:\n      tolerations:\n        {{- toYaml .Values.tolerations | nindent 8 }}\n      containers:\n      - env:\n        {{- toYaml .Values.env | nindent 8 }}\n"),
			[]string{"tolerations: [{key: a, tolerationSeconds: 3}]", "env: [{name: a, value: b}]"},
			[]string{"tolerations: [{tolerationSeconds: soon}] -> an integer", "tolerations: {key: a} -> a list", "env: {name: a} -> a list"},
		},
		{
			"quantities and shares", "r: {limits: {cpu: 1}}\nmax: 1\n",
			deployment("  strategy:\n    rollingUpdate:\n      maxSurge: {{ .Values.max }}\n  template:\n    spec:\n      containers:\n      - resources: {{ toYaml .Values.r | nindent 10 }}\n"),
			[]string{"r: {limits: {cpu: 500m, memory: 1.5Gi}, requests: {memory: 1e9, cpu: '0.5'}}", "max: 25%", "max: 2"},
			[]string{"r: {limits: {cpu: three}} -> hint: write a quantity, such as 100m or 1Gi", "r: {requests: {memory: 1GB}} -> a quantity", "max: all -> hint: write a number or a percentage, such as 1 or 25%"},
		},
		{
			"a bool", "host: true\n", deployment("  template:\n    spec:\n      hostNetwork: {{ .Values.host }}\n"),
			[]string{"host: false", `host: "true"`},
			[]string{"host: maybe -> hint: write true or false"},
		},
		{
			"names that mean the same everywhere", "num: 1\nc: {port: 1}\na: {}\nl: {}\n",
			"{{ define \"t\" }}\nreplicas: {{ .num }}\ncontainers:\n- ports:\n  - containerPort: {{ .c.port }}\nmetadata:\n  labels: {{ toYaml .l | nindent 4 }}\n  annotations:\n    {{- toYaml .a | nindent 4 }}\n{{ end }}kind: Own\nspec:\n  {{- include \"t\" .Values | nindent 2 }}\n",
			[]string{"num: 2", "a: {b: c}", "l: {b: c}", "c: {port: '80'}"},
			[]string{"num: three -> an integer", "c: {port: three} -> an integer", "a: [b] -> a map", "l: [b] -> a map"},
		},
		{
			"lines beside", "m: {}\nl: []\nlast: {}\n",
			"kind: Own\nspec:\n  a: 1\n  {{- toYaml .Values.m | nindent 2 }}\n  {{- with .Values.last }}\n  {{- toYaml . | nindent 2 }}\n  {{- end }}\n  z:\n  - 1\n  {{- toYaml .Values.l | nindent 2 }}\n",
			[]string{"m: {b: c}", "l: [1]", "last: {b: c}"},
			[]string{"m: [b] -> a map", "l: {b: c} -> a list", "last: [b] -> a map"},
		},
		{
			"a list at the column of its key", "p: []\n",
			"{{ range .Values.p }}\nkind: Own\nspec:\n  params:\n    l: {{- toYaml .l | nindent 4 }}\n    z: 1\n{{ end }}",
			[]string{"p: [{l: [1]}]"},
			[]string{"p: [{l: {b: c}}] -> a list"},
		},
		{
			"arithmetic and texts", "num: 1\nlevel: 2\nport: 80\nmode: 1\n",
			"a: {{ add .Values.num 1 }}\nb: --v={{ .Values.level }}\nc: x:{{ .Values.port }}\n{{ if eq .Values.mode \"auto\" }}{{ else }}d: {{ .Values.mode }}{{ end }}",
			[]string{"num: '2'", "level: '3'", "level: 10m", "port: http", "mode: auto", "level: $(LEVEL)"},
			[]string{"num: three -> hint: write a number, such as 1", "level: three -> hint: write a number, such as 2"},
		},
		{
			"kinds that templates ask for", "num: 1\nl: []\nm: {}\ns: 1\n",
			deployment("  {{- if kindIs \"string\" .Values.num }}{{ else }}\n  replicas: {{ .Values.num }}\n  {{- end }}\n  {{- if kindIs \"map\" .Values.l }}{{ else }}\n  tolerations: {{ toYaml .Values.l | nindent 4 }}\n  {{- end }}\n  {{- if not (kindIs \"map\" .Values.s) }}\n  revisionHistoryLimit: {{ .Values.s }}\n  {{- end }}\n"),
			[]string{"num: auto", "l: {a: b}"},
			[]string{"s: three -> an integer"},
		},
		{
			"elements with fields", "hosts: []\nplain: []\nboth: []\n",
			"{{ range .Values.hosts }}{{ .name }}{{ end }}{{ range .Values.plain }}{{ . }}{{ end }}{{ range .Values.both }}{{ if kindIs \"map\" . }}{{ .name }}{{ else }}{{ . }}{{ end }}{{ end }}",
			[]string{"hosts: [{name: a}]", "plain: [a]", "both: [a, {name: b}]"},
			[]string{"hosts: [a] -> hint: set it to a map", "hosts: {a: {name: b}} -> hint: put it into a list", "plain: {a: b} -> hint: put it into a list"},
		},
		{
			"a map by its keys", "args: {}\nextra: {}\n",
			"{{ range $k, $v := .Values.args }}{{ $k }}={{ $v }}{{ end }}{{ if kindIs \"slice\" .Values.extra }}{{ else }}{{ range $k, $v := .Values.extra }}{{ $k }}{{ end }}{{ end }}",
			[]string{"args: {a: b}", "extra: [a]"},
			[]string{"args: [a] -> a map"},
		},
		{
			"switched off", "sc: {runAsUser: 1}\nread: {a: 1}\n",
			deployment("  {{- if .Values.sc }}\n  template:\n    spec:\n      securityContext: {{ toYaml .Values.sc | nindent 8 }}\n  {{- end }}\n  {{- if .Values.read }}\n  replicas: {{ .Values.read.a }}\n  {{- end }}\n"),
			[]string{"sc: ''", "sc: null"},
			[]string{"sc: text -> a map", "read: '' -> a map"},
		},
		{
			"more on the line", "num: 1\n", deployment("  minReadySeconds: {{ .Values.num }}{{ if .Values.num }}0{{ end }}\n"), []string{"num: 2"}, []string{"num: three -> the chart expects a number"},
		},
	} {
		c.test(t)
	}
}
