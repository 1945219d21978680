{{- define "dashboard.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "dashboard.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if eq .Release.Name $name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "dashboard.matchLabels" -}}
app.kubernetes.io/name: {{ template "dashboard.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: kubernetes-dashboard
{{- end -}}

{{- define "dashboard.labels" -}}
{{ include "dashboard.matchLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "dashboard.serviceAccountName" -}}
{{ ternary (default (include "dashboard.fullname" .) .Values.serviceAccount.name) (default "default" .Values.serviceAccount.name) .Values.serviceAccount.create }}
{{- end -}}

{{/*
"true" where Ingress is stable, "false" where only the beta is served.
*/}}
{{- define "dashboard.ingress.stable" -}}
{{- if .Capabilities.APIVersions.Has "networking.k8s.io/v1/Ingress" -}}true
{{- else if and (.Capabilities.APIVersions.Has "networking.k8s.io/v1") (semverCompare ">=1.19.0-0" .Capabilities.KubeVersion.GitVersion) -}}true
{{- else -}}false{{- end -}}
{{- end -}}

{{/*
Backend of an Ingress path in the shape that its version wants. Takes a dict: root, port.
*/}}
{{- define "dashboard.ingress.backend" -}}
{{- $name := include "dashboard.fullname" .root -}}
{{- if eq (include "dashboard.ingress.stable" .root) "true" -}}
service:
  name: {{ $name }}
  port:
    number: {{ .port }}
{{- else -}}
serviceName: {{ $name }}
servicePort: {{ .port }}
{{- end -}}
{{- end -}}
