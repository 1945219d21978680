package values

import (
	"strings"
	"testing"
)

// pod is a template that prints an action as the security context of a pod.
func pod(before, action string) string {
	return before + "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      securityContext:\n        " + action + "\n"
}

// TestSinks has templates that print a value in various ways. It checks
// whether the keys of the value are those of the Kubernetes field that is its
// sink.
func TestSinks(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		want     bool
	}{
		"right there":            {pod("", "{{- toYaml .Values.v | nindent 8 }}"), true},
		"JSON":                   {pod("", "{{ toJson .Values.v }}"), true},
		"behind the key":         {strings.Replace(pod("", "{{ toJson .Values.v }}"), ":\n        {", ": {", 1), true},
		"a variable":             {pod("{{ $v := toYaml .Values.v }}", "{{- $v | nindent 8 }}"), true},
		"with":                   {pod("", "{{- with .Values.v }}{{ toYaml . | nindent 8 }}{{ end }}"), true},
		"a function call":        {pod("", "{{- nindent 8 (toYaml .Values.v) }}"), true},
		"less a key":             {pod("", "{{- omit .Values.v \"x\" | toYaml | nindent 8 }}"), true},
		"merged":                 {pod("", "{{- merge dict .Values.v | toYaml | nindent 8 }}"), true},
		"merged by the template": {pod("{{ $d := dict }}{{ $d = merge $d .Values.v }}", "{{- toYaml $d | nindent 8 }}"), true},
		"a helper":               {pod("{{ define \"h\" }}{{ toYaml . }}{{ end }}", "{{- include \"h\" .Values.v | nindent 8 }}"), true},
		"a helper of more":       {pod("{{ define \"h\" }}\n{{ toYaml . }}\nfsGroup: 1{{ end }}", "{{- include \"h\" .Values.v | nindent 8 }}"), true},
		"more, also elsewhere":   {pod("{{ define \"h\" }}\n{{ toYaml . }}\nfsGroup: 1{{ end }}kind: ConfigMap\ndata:\n  x:\n    {{- include \"h\" .Values.v | nindent 4 }}\n---\n", "{{- include \"h\" .Values.v | nindent 8 }}"), false},
		"more, also encoded":     {pod("{{ define \"h\" }}\n{{ toYaml . }}\nfsGroup: 1{{ end }}x: {{ include \"h\" .Values.v | b64enc }}\n---\n", "{{- include \"h\" .Values.v | nindent 8 }}"), false},
		"more, also by a name":   {pod("{{ define \"h\" }}\n{{ toYaml . }}\nfsGroup: 1{{ end }}{{ $h := \"h\" }}x: {{ include $h .Values.v }}\n---\n", "{{- include \"h\" .Values.v | nindent 8 }}"), false},
		"tpl of the text":        {pod("", "{{- tpl (toYaml .Values.v) . | nindent 8 }}"), true},
		"tpl of the value":       {pod("{{ define \"h\" }}{{ if typeIs \"string\" .v }}{{ tpl .v $ }}{{ else }}{{ tpl (toYaml .v) $ }}{{ end }}{{ end }}", "{{- include \"h\" (dict \"v\" .Values.v) | nindent 8 }}"), true},
		"and its digest":         {pod("x: {{ toYaml .Values.v | sha256sum }}\n---\n", "{{- toYaml .Values.v | nindent 8 }}"), true},
		"and a condition":        {pod("{{ if contains \"x\" (toYaml .Values.v) }}{{ end }}", "{{- toYaml .Values.v | nindent 8 }}"), true},
		"and its keys counted":   {pod("", "{{- if gt (len (keys .Values.v)) 1 }}{{ toYaml .Values.v | nindent 8 }}{{ end }}"), true},
		"and its keys used":      {pod("{{ range $k, $v := .Values.v }}{{ $k }}: {{ $v }}{{ end }}\n---\n", "{{- toYaml .Values.v | nindent 8 }}"), false},
		"in two ways":            {pod("{{ define \"h\" }}{{ toYaml . }}{{ end }}{{ include \"h\" .Values.v | b64enc }}\n---\n", "{{- include \"h\" .Values.v | nindent 8 }}"), false},
		"in a text":              {pod("", "x: {{ toYaml .Values.v | quote }}"), false},
		"also elsewhere":         {pod("kind: ConfigMap\ndata:\n  x:\n    {{- toYaml .Values.v | nindent 4 }}\n---\n", "{{- toYaml .Values.v | nindent 8 }}"), false},
		"elsewhere":              {"kind: ConfigMap\ndata:\n  x:\n    {{- toYaml .Values.v | nindent 4 }}\n", false},
		"as a known part":        {"apiVersion: v1\nkind: Pod\nspec:\n  {{- toYaml (dict \"securityContext\" .Values.v) | nindent 2 }}\n", true},
		"set later":              {"{{ $d := dict }}{{ $_ := set $d \"securityContext\" .Values.v }}apiVersion: v1\nkind: Pod\nspec:\n  {{- toYaml $d | nindent 2 }}\n", true},
		"picked":                 {"apiVersion: v1\nkind: Pod\nspec:\n  securityContext:\n    {{- toYaml (pick .Values \"v\").v | nindent 4 }}\n", true},
		"an unknown indentation": {pod("", "{{- toYaml .Values.v | nindent (int .Values.n) }}"), false},
	} {
		t.Run(name, func(t *testing.T) {
			typ := derive(t, fleetChart(map[string]string{"values.yaml": "v: {}\nn: 1\n", "templates/x.yaml": c.template}))
			at, _ := typ.At("v")
			got := at.shape.closed()
			if got != c.want {
				t.Errorf("closed %v, open %v because %q\n%s", got, at.Open, at.Why, c.template)
			}
			if got && (at.Open || at.shape.fields["fsGroup"] == nil || len(typ.Check(tree(t, "v.yaml", "v: {fsGruop: 1}"), nil)) != 1) {
				t.Errorf("its keys are %v", at.shape.fields)
			}
		})
	}
}

// TestSinksOfParts has a value whose parts have several sinks.
func TestSinksOfParts(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"values.yaml": "sc: {web: {}, db: {}}\nelems: []\nboth: {}\nfree: {}\ntext: {}\n",
		"templates/x.yaml": `
apiVersion: v1
kind: Pod
spec:
  securityContext:
    {{- if and .Values.sc.web .Values.sc.db }}
    {{- toYaml .Values.sc.web | nindent 4 }}
    {{- else }}
    {{- toYaml .Values.sc | nindent 4 }}
    {{- end }}
  nodeSelector:
    {{- toYaml .Values.free | nindent 4 }}
  containers:
  - name: x
    securityContext:
      {{- toYaml .Values.both | nindent 6 }}
    env:
    {{- toYaml .Values.elems | nindent 4 }}
---
apiVersion: v1
kind: Pod
spec:
  securityContext:
    {{- toYaml .Values.both | nindent 4 }}
  affinity:
    {{- tpl .Values.text . | nindent 4 }}
`,
	}))
	for text, want := range map[string]string{
		"sc: {web: {fsGroup: 1}}":                       "",
		"sc: {web: {fsGruop: 1}}":                       "did you mean fsGroup?",
		"sc: {fsGroup: 1}":                              "",
		"sc: {wbe: {}}":                                 "did you mean web?",
		"both: {fsGroup: 1, privileged: true}":          "",
		"both: {fsGruop: 1}":                            "did you mean fsGroup?",
		"elems: [{name: a, valeu: b}]":                  "did you mean value?",
		"elems: [{name: a, value: b}]":                  "",
		"elems: [{name: a, valueFrom: {fieldRef: {}}}]": "",
		"free: {any: thing}":                            "",
		"text: '{{ .Values.x }}'":                       "",
		"text: {nodeAfinity: {}}":                       "did you mean nodeAffinity?",
	} {
		got := typ.Check(tree(t, "v.yaml", text), nil)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].Hint != want) {
			t.Errorf("%s: %s", text, faults(got))
		}
	}
}
