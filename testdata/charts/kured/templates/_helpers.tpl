{{- define "kured.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kured.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "kured.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kured.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "kured.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "kured.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kured.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kured.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{ include "kured.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/*
Flags of a map: rebootDays becomes --reboot-days once, by commas; other lists become a flag for each element.
*/}}
{{- define "kured.flags" -}}
{{- range $key, $value := . }}
{{- $flag := kebabcase $key }}
{{- if eq $key "rebootDays" }}
{{- range $value }}
{{- if not (has . (list "su" "mo" "tu" "we" "th" "fr" "sa")) }}
{{- fail (printf "configuration.rebootDays: %q is no day: use su, mo, tu, we, th, fr, sa" .) }}
{{- end }}
{{- end }}
- --{{ $flag }}={{ join "," $value }}
{{- else if kindIs "slice" $value }}
{{- range $value }}
- --{{ $flag }}={{ . }}
{{- end }}
{{- else if not (has (toString $value) (list "" "<nil>")) }}
- --{{ $flag }}={{ $value }}
{{- end }}
{{- end }}
{{- end -}}
