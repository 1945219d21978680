{{- define "elasticsearch.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "elasticsearch.uname" -}}
{{- if empty .Values.fullnameOverride -}}
{{- if empty .Values.nameOverride -}}
{{ printf "%s-%s" .Values.clusterName .Values.nodeGroup | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Values.nameOverride .Values.nodeGroup | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- else -}}
{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "elasticsearch.masterService" -}}
{{- if not (empty .Values.masterService) -}}
{{ .Values.masterService }}
{{- else if and (not .Values.fullnameOverride) (not .Values.nameOverride) -}}
{{ printf "%s-master" .Values.clusterName }}
{{- else -}}
{{ include "elasticsearch.uname" . }}
{{- end -}}
{{- end -}}

{{/*
Names of the pods that found the cluster, in their order.
*/}}
{{- define "elasticsearch.endpoints" -}}
{{- $replicas := int (toString .Values.replicas) -}}
{{- $uname := include "elasticsearch.masterService" . -}}
{{- range $i := until $replicas -}}
{{ $uname }}-{{ $i }}{{ if lt (add1 $i) $replicas }},{{ end }}
{{- end -}}
{{- end -}}

{{- define "elasticsearch.roles" -}}
{{- $known := splitList "," "master,data,data_content,data_hot,data_warm,data_cold,data_frozen,ingest,ml,remote_cluster_client,transform,voting_only" -}}
{{- range $i, $role := .Values.roles -}}
{{- if not (has $role $known) -}}{{- fail (printf "roles: %q is not a role of a node" $role) -}}{{- end -}}
{{ if $i }},{{ end }}{{ $role }}
{{- end -}}
{{- end -}}

{{- define "elasticsearch.selectorLabels" -}}
app: {{ include "elasticsearch.uname" . | quote }}
release: {{ .Release.Name | quote }}
{{- end -}}

{{- define "elasticsearch.labels" -}}
heritage: {{ .Release.Service | quote }}
chart: {{ .Chart.Name | quote }}
{{ include "elasticsearch.selectorLabels" . }}
{{- range $key, $value := .Values.labels }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/*
Something that is either a list or a template that makes one. Takes a dict: root, value.
*/}}
{{- define "elasticsearch.listOrTemplate" -}}
{{- if eq (kindOf .value) "string" -}}
{{ tpl .value .root }}
{{- else -}}
{{ toYaml .value }}
{{- end -}}
{{- end -}}

{{- define "elasticsearch.check" -}}
{{- if not (has .Values.antiAffinity (list "hard" "soft" "custom")) -}}
{{- fail (printf "antiAffinity must be hard, soft or custom, not %q" .Values.antiAffinity) -}}
{{- end -}}
{{- if not (regexMatch "^https?$" .Values.protocol) -}}
{{- fail "protocol must be http or https" -}}
{{- end -}}
{{- if eq .Values.protocol "https" -}}
{{- $_ := required "tlsSecret is needed with protocol https" .Values.tlsSecret -}}
{{- end -}}
{{- end -}}

{{- define "elasticsearch.credentials" -}}
{{- if .Values.secret.enabled }}{{ printf "%s-credentials" (include "elasticsearch.uname" .) }}{{ else }}{{ .Values.credentialsSecret }}{{ end -}}
{{- end -}}
