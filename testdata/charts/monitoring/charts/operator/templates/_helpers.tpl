{{- define "operator.fullname" -}}
{{- .Values.fullnameOverride | default (printf "%s-%s" (.Release.Name | trunc 36 | trimSuffix "-") .Chart.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "operator.selectorLabels" -}}
app: {{ include "operator.fullname" . }}
release: {{ .Release.Name | quote }}
{{- end -}}

{{- define "operator.labels" -}}
{{ include "operator.selectorLabels" . }}
chart: {{ .Chart.Name }}-{{ .Chart.Version }}
heritage: {{ .Release.Service | quote }}
app.kubernetes.io/part-of: {{ .Release.Name }}
{{- end -}}

{{- define "operator.image" -}}
{{- $registry := dig "global" "imageRegistry" "" .root.Values.AsMap | default .image.registry -}}
{{- printf "%s/%s:%s" $registry .image.repository (.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}

{{- define "operator.kubeletService" -}}
{{- with .Values.kubeletService -}}
{{ .namespace }}/{{ default (printf "%s-kubelet" ($.Release.Name | trunc 55 | trimSuffix "-")) .name }}
{{- end -}}
{{- end -}}
