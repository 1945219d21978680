package values

import (
	"slices"
	"strings"
	"testing"
)

// faultPaths returns the paths of the faults in the values.
func faultPaths(t *testing.T, typ *Type, values string) string {
	t.Helper()
	var paths []string
	for _, f := range typ.Check(tree(t, "v.yaml", values), nil) {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	return strings.Join(paths, " ")
}

// TestFragmentLists checks lists that a chart prints in a fragment of a pod.
func TestFragmentLists(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": `
defaultVolumes:
- name: run
  hostPath: {path: /run}
tolerations: []
psp: {volumes: [secret]}
words: {volumes: [secret]}
`,
		"templates/_pod.tpl": `
{{- define "pod" }}
spec:
  tolerations:
    {{- toYaml .Values.tolerations | nindent 4 }}
  volumes:
    - name: config
    {{- with .Values.defaultVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- define "words" }}
volumes:
  {{- toYaml .Values.words.volumes | nindent 2 }}
{{- end }}
`,
		"templates/x.yaml": `
kind: Deployment
apiVersion: apps/v1
spec:
  template: {{ include "pod" . | nindent 4 }}
{{ include "words" . }}
---
kind: PodSecurityPolicy
apiVersion: policy/v1beta1
spec:
  volumes: {{ toYaml .Values.psp.volumes | nindent 4 }}
`,
	}))
	for values, want := range map[string]string{
		"defaultVolumes: [{name: a, emptyDir: {}}]":            "",
		"defaultVolumes: [{name: a, emtpyDir: {}}]":            "values.defaultVolumes[0].emtpyDir",
		"defaultVolumes: [{name: a, hostPath: {pth: /}}]":      "values.defaultVolumes[0].hostPath.pth",
		"defaultVolumes: [{name: a, hostPath: 7}]":             "values.defaultVolumes[0].hostPath",
		"tolerations: [{key: a, efect: NoSchedule}]":           "values.tolerations[0].efect",
		"tolerations: [{key: a, tolerationSeconds: three}]":    "values.tolerations[0].tolerationSeconds",
		"psp: {volumes: [configMap]}\nwords: {volumes: [any]}": "",
	} {
		if got := faultPaths(t, typ, values); got != want {
			t.Errorf("%s: got %q, want %q", values, got, want)
		}
	}
}

// TestNestedFragments checks values in a fragment that a helper without a kind
// prints, and other helpers include: the outermost one has the kind.
func TestNestedFragments(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": "main: {rules: [], pod: {}, suffix: a}\n",
		"templates/_helpers.tpl": `
{{- define "rules" -}}
{{- if .rules }}
{{- tpl (toYaml .rules) $ }}
{{- end }}
- host: a
  http:
    {{- include "http" . | nindent 4 }}
{{- end }}
{{- define "http" -}}
paths:
  {{- with .paths }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- define "pod" }}
{{- toYaml .pod }}
nodeName: {{ template "node" . }}
{{- end }}
{{- define "node" }}
{{- .suffix }}
{{- end }}
`,
		"templates/x.yaml": `
kind: Ingress
apiVersion: networking.k8s.io/v1
spec:
  rules:
    {{- include "rules" .Values.main | trim | nindent 4 }}
---
kind: Pod
apiVersion: v1
spec:
  {{- include "pod" .Values.main | nindent 2 }}
`,
	}))
	for values, want := range map[string]string{
		"main: {rules: [{host: b, http: {paths: []}}], paths: [{path: /, pathType: Exact}], pod: {hostNetwork: true}}": "",
		"main: {rules: '{{ .x }}', suffix: b}":       "",
		"main: {rules: [{hots: b}]}":                 "values.main.rules[0].hots",
		"main: {rules: [{http: {path: []}}]}":        "values.main.rules[0].http.path",
		"main: {rules: {host: b}}":                   "values.main.rules",
		"main: {paths: [{path: /, pathTyp: Exact}]}": "values.main.paths[0].pathTyp",
		"main: {pod: {hostNetwrok: true}}":           "values.main.pod.hostNetwrok",
	} {
		if got := faultPaths(t, typ, values); got != want {
			t.Errorf("%s: got %q, want %q", values, got, want)
		}
	}
}

// TestFragmentAfterCondition checks values that a helper prints below a line that
// may not be rendered.
func TestFragmentAfterCondition(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": "enabled: true\nenv: {}\nresources: {}\ntexts: {}\n",
		"templates/_pod.tpl": `
{{- define "pod" -}}
serviceAccountName: a
{{- if .Values.enabled }}
initContainers:
{{- end }}
{{- if .Values.enabled }}
  - name: a
    env:
      {{- range $key, $value := .Values.env }}
      - name: {{ $key | quote }}
        valueFrom:
          {{- tpl (toYaml $value) $ | nindent 10 }}
      {{- end }}
    resources:
      {{- toYaml .Values.resources | nindent 6 }}
{{- end }}
{{- end }}
`,
		"templates/x.yaml": `
kind: Pod
apiVersion: v1
spec: {{ include "pod" . | nindent 2 }}
---
kind: ConfigMap
apiVersion: v1
data:
  {{- if .Values.enabled }}
  config.yaml: |
  {{- end }}
    a:
      resources:
        {{- toYaml .Values.texts | nindent 8 }}
`,
	}))
	for values, want := range map[string]string{
		"{env: {A: {secretKeyRef: {name: a, key: b}}}, resources: {limits: {cpu: 1}}, texts: {any: 1}}": "",
		"env: {A: {secretKeyRef: {nmae: a, key: b}}}":                                                   "values.env.A.secretKeyRef.nmae",
		"env: {A: {secretKeyReff: {name: a}}}":                                                          "values.env.A.secretKeyReff",
		"env: {A: {secretKeyRef: [a]}}":                                                                 "values.env.A.secretKeyRef",
		"resources: {limit: {cpu: 1}}":                                                                  "values.resources.limit",
	} {
		if got := faultPaths(t, typ, values); got != want {
			t.Errorf("%s: got %q, want %q", values, got, want)
		}
	}
}

// TestPlaceOfOutput checks values that a chart prints next to, not below, the
// line before.
func TestPlaceOfOutput(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": "override: null\nextra: {}\npersistence: true\nnaming: standard\nplugins: {}\n",
		"templates/x.yaml": `
kind: ConfigMap
apiVersion: v1
data:
  config.yaml: |
    {{- if kindIs "string" .Values.naming }}
    naming: "{{ .Values.naming }}"
    {{- else }}
    naming:
      {{- toYaml .Values.naming | nindent 6 }}
    {{- end }}
---
kind: Deployment
apiVersion: apps/v1
spec:
  template:
    spec:
      securityContext:
  {{- if kindIs "map" .Values.override }}
    {{- tpl (toYaml .Values.override | nindent 8) . -}}
  {{- end }}
      volumes:
      {{- if .Values.persistence }}
        - name: storage
      {{- end }}
      {{- if .Values.extra }}
      {{- toYaml .Values.extra | nindent 6 }}
      {{- end }}
`,
	}))
	for values, want := range map[string]string{
		"override: {runAsUser: 1, fsGroup: 2}":                "",
		"naming: {pattern: {strict: true}}":                   "",
		"override: {runAsUsr: 1}":                             "values.override.runAsUsr",
		"extra: {hostNetwork: true, dnsPolicy: ClusterFirst}": "",
	} {
		if got := faultPaths(t, typ, values); got != want {
			t.Errorf("%s: got %q, want %q", values, got, want)
		}
	}
}

// TestScatteredKeys checks a map whose values a template copies by computed
// keys: the sink of one of them is not the sink of all.
func TestScatteredKeys(t *testing.T) {
	typ := derive(t, fleetChart(map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"values.yaml": "plugins: {}\n",
		"templates/x.yaml": `
kind: Pod
apiVersion: v1
spec:
  {{- range .Values.plugins }}
  {{- $config := dict }}
  {{- range $k, $v := . }}
  {{- $_ := set $config $k $v }}
  {{- end }}
  schedulerName: {{ $config.volume }}
  {{- if and (eq .type "inline") .module }}
  {{- range $file, $text := .source }}
  {{ $file }}: {{ $text | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- end }}
`,
	}))
	for values, want := range map[string]string{
		"plugins: {a: {type: inline, module: m, source: {main.go: package main}}}": "",
		"plugins: {a: {type: path, module: m, volume: v}}":                         "",
	} {
		if got := faultPaths(t, typ, values); got != want {
			t.Errorf("%s: got %q, want %q", values, got, want)
		}
	}
}
