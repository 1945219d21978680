{{- define "commonlib.selectorLabels" -}}
app.kubernetes.io/name: {{ include "commonlib.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/*
Labels of an object, those of the values last. Takes the context, or a dict: root, and extra labels.
*/}}
{{- define "commonlib.labels" -}}
{{- $root := . -}}
{{- $extra := dict -}}
{{- if hasKey . "root" -}}
{{- $root = .root -}}
{{- $extra = default dict .extra -}}
{{- end -}}
{{- $base := dict
  "helm.sh/chart" (printf "%s-%s" ($root.Chart.Name | kebabcase) $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/managed-by" $root.Release.Service
  "app.kubernetes.io/part-of" $root.Release.Name
-}}
{{- with $root.Chart.AppVersion -}}
{{- $_ := set $base "app.kubernetes.io/version" . -}}
{{- end -}}
{{- $selector := include "commonlib.selectorLabels" $root | fromYaml -}}
{{- mustMergeOverwrite $base (deepCopy (default dict $root.Values.commonLabels)) $extra $selector | toYaml -}}
{{- end -}}
