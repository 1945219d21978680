{{/*
One object over another. Takes a list: the context, the name of the template with the wish, the name of the template with the base.
*/}}
{{- define "commonlib.merge" -}}
{{- $top := first . -}}
{{- $overrides := fromYaml (include (index . 1) $top) | default dict -}}
{{- $base := fromYaml (include (index . 2) $top) | default dict -}}
{{- toYaml (mustMergeOverwrite $base $overrides) -}}
{{- end -}}

{{/*
A value that may be a template: text, or anything whose YAML is one. Takes a dict: value, root.
*/}}
{{- define "commonlib.render" -}}
{{- $text := ternary .value (.value | toYaml) (kindIs "string" .value) -}}
{{- if contains "{{" (toJson .value) -}}
{{- tpl $text .root -}}
{{- else -}}
{{- $text -}}
{{- end -}}
{{- end -}}

{{- define "commonlib.serviceAccount" -}}
{{- if dig "create" true (default dict .Values.serviceAccount) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "commonlib.serviceAccountName" . }}
  namespace: {{ include "commonlib.namespace" . }}
  labels:
    {{- include "commonlib.labels" . | nindent 4 }}
  {{- with (default dict .Values.serviceAccount).annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: {{ dig "automountServiceAccountToken" false (default dict .Values.serviceAccount) }}
{{- end -}}
{{- end -}}

{{/*
ServiceMonitor of a chart's Service. Takes a dict: root, monitor (values), port, and optionally scheme, endpoint (fields that win).
*/}}
{{- define "commonlib.serviceMonitor" -}}
{{- $root := .root -}}
{{- $monitor := .monitor -}}
{{- $endpoint := dict "port" (default "metrics" .port) -}}
{{- range $key := list "interval" "scrapeTimeout" "relabelings" "metricRelabelings" "honorLabels" -}}
{{- with get $monitor $key -}}{{- $_ := set $endpoint $key . -}}{{- end -}}
{{- end -}}
{{- with .scheme -}}{{- $_ := set $endpoint "scheme" . -}}{{- end -}}
{{- $endpoint = mergeOverwrite $endpoint (default dict .endpoint) -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "commonlib.fullname" $root }}
  namespace: {{ coalesce $monitor.namespace (include "commonlib.namespace" $root) }}
  labels:
    {{- include "commonlib.labels" (dict "root" $root "extra" (default (dict "release" $root.Release.Name) $monitor.labels)) | nindent 4 }}
spec:
  jobLabel: {{ default "app.kubernetes.io/name" $monitor.jobLabel }}
  {{- with pick $monitor "sampleLimit" "targetLimit" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "commonlib.selectorLabels" $root | nindent 6 }}
  {{- if $monitor.namespace }}
  namespaceSelector:
    matchNames:
      - {{ include "commonlib.namespace" $root }}
  {{- end }}
  endpoints:
    - {{ toYaml $endpoint | nindent 6 | trim }}
{{- end -}}
