{{- define "cert-manager.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "cert-manager.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "cert-manager.namespace" -}}
{{- .Values.namespace | default .Release.Namespace -}}
{{- end -}}

{{/*
Everything that tells one component's helpers apart, as YAML. Takes a dict: root, component.
The controller's values are the top of the tree, the others' are below their names.
*/}}
{{- define "cert-manager.component.values" -}}
{{- if eq .component "controller" -}}
{{- omit .root.Values "webhook" "cainjector" "startupapicheck" "global" "crds" "extraObjects" "clusterIssuers" | toYaml -}}
{{- else -}}
{{- get .root.Values .component | toYaml -}}
{{- end -}}
{{- end -}}

{{- define "cert-manager.component.name" -}}
{{- $base := include "cert-manager.name" .root -}}
{{- if eq .component "controller" -}}{{ $base }}{{- else -}}{{ .component }}{{- end -}}
{{- end -}}

{{- define "cert-manager.component.fullname" -}}
{{- $full := include "cert-manager.fullname" .root -}}
{{- if eq .component "controller" -}}
{{- $full -}}
{{- else -}}
{{- printf "%s-%s" ($full | trunc (int (sub 62 (len .component))) | trimAll "-") .component -}}
{{- end -}}
{{- end -}}

{{- define "cert-manager.component.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cert-manager.component.name" . }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component | quote }}
{{- end -}}

{{- define "cert-manager.component.labels" -}}
app: {{ include "cert-manager.component.name" . }}
{{ include "cert-manager.component.selectorLabels" . }}
{{ include "cert-manager.commonLabels" .root }}
{{- end -}}

{{- define "cert-manager.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.global.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "cert-manager.component.serviceAccountName" -}}
{{- $values := include "cert-manager.component.values" . | fromYaml -}}
{{- if dig "serviceAccount" "create" true $values -}}
{{- dig "serviceAccount" "name" "" $values | default (include "cert-manager.component.fullname" .) -}}
{{- else -}}
{{- dig "serviceAccount" "name" "" $values | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "cert-manager.image" -}}
{{- $image := .image -}}
{{- if $image.registry -}}{{ printf "%s/%s" $image.registry $image.repository }}{{- else -}}{{- $image.repository -}}{{- end -}}
{{- if $image.digest -}}{{ printf "@%s" $image.digest }}{{- else -}}{{ printf ":%s" (default .root.Chart.AppVersion $image.tag) }}{{- end -}}
{{- end -}}

{{/*
Pod fields that all components share. Takes a dict: root, values.
*/}}
{{- define "cert-manager.scheduling" -}}
{{- with .root.Values.global.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .root.Values.global.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "affinity" "tolerations" "topologySpreadConstraints" }}
{{- with get $.values $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
A configuration that the user gave must say what it is. Takes a dict: config, key.
*/}}
{{- define "cert-manager.config" -}}
{{- if not (hasKey .config "apiVersion") -}}
{{- fail (printf "%s.apiVersion must be set" .key) -}}
{{- end -}}
{{- if not (hasKey .config "kind") -}}
{{- fail (printf "%s.kind must be set" .key) -}}
{{- end -}}
{{- toYaml .config -}}
{{- end -}}
