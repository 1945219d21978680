package values

import (
	"strings"
	"testing"
)

// An inference is a chart with values that users write, and what is wrong with
// them.
type inference struct {
	name, values, template string
	fine                   []string // values that pass
	wrong                  []string // values with one fault, and what it says or hints behind an arrow
}

func (c inference) test(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		typ := derive(t, fleetChart(map[string]string{"values.yaml": c.values, "templates/x.yaml": c.template}))
		for _, text := range c.fine {
			if got := typ.Check(tree(t, "v.yaml", text), nil, nil); len(got) > 0 {
				t.Errorf("%s: %s", text, faults(got))
			}
		}
		for _, line := range c.wrong {
			text, want, _ := strings.Cut(line, " -> ")
			got := typ.Check(tree(t, "v.yaml", text), nil, nil)
			if len(got) != 1 || !strings.Contains(faults(got), want) {
				t.Errorf("%s: want %q, got\n%s", text, want, faults(got))
			}
		}
	})
}

// TestInferredKeys has templates that compute keys: those that callers pass and
// those that other values name do not open a map to every key.
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
			[]string{"users: {bob: {password: y}}"}, nil,
		},
		{
			"keys of which nothing is known", "a: {x: 1}\n", `{{ range $k := splitList "." .Release.Name }}{{ (index $.Values $k).x }}{{ end }}`,
			[]string{"b: {x: 1}"}, nil,
		},
	} {
		c.test(t)
	}
}

// TestGivenUp has templates that print all values of the chart and are too much
// to be followed: any key may be read, and none is a fault.
func TestGivenUp(t *testing.T) {
	inference{
		"given up", "a: 1\n", "{{ toYaml .Values }}{{ define \"t\" }}" + strings.Repeat("{{ range $a, $b := . }}", maxNesting) +
			strings.Repeat("{{ end }}", maxNesting) + "{{ end }}{{ include \"t\" .Values.a }}",
		[]string{"b: 1", "c: {d: 1}"}, nil,
	}.test(t)
}
