{{/*
Name of a chart; aliases are written in camel case, names of objects are not.
*/}}
{{- define "commonlib.name" -}}
{{- default (.Chart.Name | kebabcase) .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "commonlib.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "commonlib.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "commonlib.namespace" -}}
{{- coalesce .Values.namespaceOverride (dig "namespaceOverride" "" (default dict .Values.global)) .Release.Namespace -}}
{{- end -}}

{{- define "commonlib.serviceAccountName" -}}
{{- $account := default dict .Values.serviceAccount -}}
{{- if dig "create" true $account -}}
{{- default (include "commonlib.fullname" .) $account.name -}}
{{- else -}}
{{- default "default" $account.name -}}
{{- end -}}
{{- end -}}
