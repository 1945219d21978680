{{- define "CHART.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "CHART.fullname" -}}
{{- $name := include "CHART.name" .context }}
{{- if contains .part $name }}
{{- printf "%s-%s" .context.Release.Name .part | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s-%s" .context.Release.Name $name .part | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "CHART.selector" -}}
app.kubernetes.io/name: {{ include "CHART.name" .context }}
app.kubernetes.io/instance: {{ .context.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "CHART.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .context.Chart.Name .context.Chart.Version | replace "+" "_" }}
{{ include "CHART.selector" . }}
app.kubernetes.io/version: {{ .context.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .context.Release.Service }}
{{- with .context.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "CHART.image" -}}
{{- $tag := .image.tag | default .context.Chart.AppVersion }}
{{- printf "%s/%s:%s" .context.Values.global.registry .image.repository $tag }}
{{- end }}

{{- define "CHART.flags" -}}
{{- $context := .context }}
{{- range $name, $value := .flags }}
- --{{ $name }}={{ tpl $value $context }}
{{- end }}
{{- end }}

{{- define "CHART.affinity" -}}
{{- if .values.affinity }}
{{- toYaml .values.affinity }}
{{- else -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "CHART.selector" . | nindent 12 }}
{{- end }}
{{- end }}
