{{- define "metrics-server.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "metrics-server.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "metrics-server.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "metrics-server.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "metrics-server.selectorLabels" -}}
app.kubernetes.io/name: {{ include "metrics-server.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "metrics-server.serviceAccountName" -}}
{{- ternary (default (include "metrics-server.fullname" .) .Values.serviceAccount.name) (default "default" .Values.serviceAccount.name) .Values.serviceAccount.create }}
{{- end }}

{{/*
Flags of both lists in order; of one flag given twice the later list wins, in the earlier place.
*/}}
{{- define "metrics-server.args" -}}
{{- $order := list }}
{{- $flags := dict }}
{{- range concat .Values.defaultArgs .Values.args }}
{{- $arg := tpl . $ }}
{{- $name := regexFind "^--[^=]+" $arg | default $arg }}
{{- if not (hasKey $flags $name) }}
{{- $order = append $order $name }}
{{- end }}
{{- $_ := set $flags $name $arg }}
{{- end }}
{{- range $order }}
- {{ get $flags . }}
{{- end }}
{{- end }}

{{- define "metrics-server.tls.secretName" -}}
{{- if eq .Values.tls.type "existingSecret" -}}
{{ required "tls.existingSecret.name is needed with tls.type existingSecret" .Values.tls.existingSecret.name }}
{{- else if eq .Values.tls.type "chart" -}}
{{ printf "%s-tls" (include "metrics-server.fullname" . | trunc 59 | trimSuffix "-") }}
{{- else if ne .Values.tls.type "metrics-server" -}}
{{ fail (printf "tls.type must be metrics-server, existingSecret or chart, not %q" .Values.tls.type) }}
{{- end -}}
{{- end }}
