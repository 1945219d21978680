{{- define "jaeger.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "jaeger.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "jaeger.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/*
Labels of a component. Takes a list: root, component.
*/}}
{{- define "jaeger.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Values.nameOverride | default $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "jaeger.labels" -}}
{{- $root := index . 0 -}}
{{ include "jaeger.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Values.tag | default $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{- define "jaeger.image" -}}
{{- $root := index . 0 -}}
{{- $image := printf "%s:%s" (index . 1).image.repository ($root.Values.tag | default $root.Chart.AppVersion) -}}
{{- with $root.Values.global.imageRegistry -}}
{{- $image = printf "%s/%s" . (regexReplaceAll "^[^/]+[.][^/]+/" $image "") -}}
{{- end -}}
{{ $image | quote }}
{{- end -}}

{{- define "jaeger.storageEnv" -}}
{{- if not (has .Values.storage.type (list "elasticsearch" "memory" "none")) -}}
{{- fail (printf "storage.type: elasticsearch, memory or none, not %q" .Values.storage.type) -}}
{{- end -}}
{{- if and (eq .Values.storage.type "memory") (not .Values.allInOne.enabled) -}}
{{- fail "storage.type memory needs allInOne.enabled" -}}
{{- end -}}
- name: SPAN_STORAGE_TYPE
  value: {{ .Values.storage.type }}
{{- if eq .Values.storage.type "memory" }}
- name: MEMORY_MAX_TRACES
  value: {{ .Values.storage.memory.maxTraces | int | quote }}
{{- end }}
{{- if eq .Values.storage.type "elasticsearch" }}
{{- with .Values.storage.elasticsearch }}
- name: ES_SERVER_URLS
  value: {{ printf "%s://%s:%d" .scheme (required "storage.elasticsearch.host is needed" .host) (int .port) }}
{{- with .indexPrefix }}
- name: ES_INDEX_PREFIX
  value: {{ . }}
{{- end }}
{{- if .user }}
- name: ES_USERNAME
  value: {{ .user }}
- name: ES_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ required "storage.elasticsearch.existingSecret is needed with a user" .existingSecret }}
      key: {{ .existingSecretKey }}
{{- end }}
{{- range $name, $value := .env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
