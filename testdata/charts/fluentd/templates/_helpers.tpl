{{- define "fluentd.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "fluentd.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fluentd.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fluentd.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fluentd.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "fluentd.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fluentd.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "fluentd.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/*
A name in camel case as fluentd writes it.
*/}}
{{- define "fluentd.snake" -}}
{{- regexReplaceAll "([A-Z])" . "_${1}" | lower -}}
{{- end -}}

{{/*
Namespaces that are left out, as one regular expression without its ends.
*/}}
{{- define "fluentd.excludeRegex" -}}
{{- $parts := list -}}
{{- range .Values.excludeNamespaces -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" .) -}}
{{- fail (printf "excludeNamespaces: no namespace can be called %q; use excludeNamespaceRegex for patterns" .) -}}
{{- end -}}
{{- $parts = append $parts . -}}
{{- end -}}
{{- $parts = append ($parts | uniq | sortAlpha) .Values.excludeNamespaceRegex -}}
{{- join "|" (compact $parts) -}}
{{- end -}}

{{/*
All files of the configuration, as YAML: the chart's, then those of the values.
*/}}
{{- define "fluentd.files" -}}
{{- $files := dict -}}
{{- range $path, $_ := .Files.Glob "files/*.conf" -}}
{{- $_ := set $files (base $path) ($.Files.Get $path) -}}
{{- end -}}
{{- range $name, $content := mergeOverwrite $files (deepCopy .Values.fileConfigs) -}}
{{- if $content }}
{{ $name }}: |
  {{- tpl $content $ | trim | nindent 2 }}
{{- end -}}
{{- end -}}
{{- end -}}
