{{- define "log-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "log-exporter.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "log-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "log-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "log-exporter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "log-exporter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "log-exporter.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "log-exporter.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/*
Sinks with their kinds' defaults, as YAML. Without any, the endpoint is the only one.
*/}}
{{- define "log-exporter.sinks" -}}
{{- $sinks := .Values.sinks -}}
{{- if not $sinks -}}
{{- $url := required "endpoint is needed while enabled is true and sinks is empty" .Values.endpoint -}}
{{- $sinks = dict "default" (dict "kind" "http" "url" $url "token" (not (empty .Values.token.existingSecret))) -}}
{{- end -}}
{{- range $name, $given := $sinks -}}
{{- if $given -}}
{{- $sink := deepCopy $given -}}
{{- if eq $sink.kind "http" -}}
{{- $_ := required (printf "sinks.%s.url is needed for kind http" $name) $sink.url -}}
{{- if and $sink.token (not $.Values.token.existingSecret) -}}
{{- fail (printf "sinks.%s.token needs token.existingSecret" $name) -}}
{{- end -}}
{{- $sink = merge $sink (dict "compression" "gzip" "batchBytes" (int64 $.Values.buffer.batchBytes) "flushSeconds" (int $.Values.buffer.flushSeconds)) -}}
{{- if $sink.token -}}{{- $_ := set $sink "headers" (dict "Authorization" "Bearer ${EXPORT_TOKEN}") -}}{{- end -}}
{{- $sink = omit $sink "token" -}}
{{- else if eq $sink.kind "kafka" -}}
{{- $brokers := required (printf "sinks.%s.brokers is needed for kind kafka" $name) $sink.brokers -}}
{{- $_ := set $sink "brokers" (ternary (splitList "," (toString $brokers)) $brokers (kindIs "string" $brokers)) -}}
{{- $_ := set $sink "topic" (tpl (required (printf "sinks.%s.topic is needed for kind kafka" $name) $sink.topic) $) -}}
{{- else if eq $sink.kind "file" -}}
{{- $_ := required (printf "sinks.%s.path is needed for kind file" $name) $sink.path -}}
{{- else if ne $sink.kind "null" -}}
{{- fail (printf "sinks.%s.kind must be http, kafka, file or null, not %q" $name $sink.kind) -}}
{{- end }}
{{ $name }}:
  {{- toYaml $sink | nindent 2 }}
{{- end -}}
{{- end -}}
{{- end -}}
