{{- define "kibana.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "kibana.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Release.Name .Values.nameOverride -}}
{{- ternary $name (printf "%s-%s" $name .Chart.Name) (contains .Chart.Name $name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kibana.selectorLabels" -}}
app: {{ .Chart.Name }}
release: {{ .Release.Name | quote }}
{{- end -}}

{{- define "kibana.labels" -}}
{{ include "kibana.selectorLabels" . }}
heritage: {{ .Release.Service }}
{{- if .Values.labels }}
{{ toYaml .Values.labels }}
{{- end }}
{{- end -}}

{{- define "kibana.image" -}}
{{ printf "%s:%s" .Values.image (.Values.imageTag | default .Chart.AppVersion) | quote }}
{{- end -}}

{{- define "kibana.elasticsearchHosts" -}}
{{- required "elasticsearchHosts is needed" (tpl .Values.elasticsearchHosts .) -}}
{{- end -}}

{{/*
Hook job that speaks to Elasticsearch. Takes a dict: root, hook, script.
*/}}
{{- define "kibana.tokenJob" -}}
{{- $root := .root -}}
{{- $short := .hook | splitList "-" | first -}}
{{- with .root -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ printf "%s-%s" $short (include "kibana.fullname" .) | trunc 63 | trimSuffix "-" }}
  labels:
    {{- include "kibana.labels" . | nindent 4 }}
  annotations:
    "helm.sh/hook": {{ $.hook }}
    "helm.sh/hook-delete-policy": hook-succeeded,before-hook-creation
    {{- with .Values.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  backoffLimit: 20
  template:
    metadata:
      labels:
        job: {{ $short }}-token
        release: {{ .Release.Name | quote }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ $short }}-{{ include "kibana.fullname" . | trunc 58 | trimSuffix "-" }}
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml .Values.podSecurityContext | nindent 8 }}
      containers:
        - name: token
          image: {{ .Values.token.image | default (include "kibana.image" . | trimAll "\"") | quote }}
          imagePullPolicy: {{ .Values.imagePullPolicy | quote }}
          command:
            - /usr/share/kibana/node/bin/node
            - -e
            - |
              {{- $.script | nindent 14 }}
          env:
            - name: ELASTICSEARCH_HOSTS
              value: {{ include "kibana.elasticsearchHosts" . | splitList "," | first | quote }}
            - name: TOKEN_NAME
              value: {{ include "kibana.fullname" . }}
            {{- range $key := list "username" "password" }}
            - name: ELASTICSEARCH_{{ upper $key }}
              valueFrom:
                secretKeyRef:
                  name: {{ required "elasticsearchCredentialSecret is needed with token.enabled" $root.Values.elasticsearchCredentialSecret }}
                  key: {{ $key }}
            {{- end }}
          securityContext:
            {{- toYaml .Values.securityContext | nindent 12 }}
{{- end }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $short }}-{{ include "kibana.fullname" $root | trunc 58 | trimSuffix "-" }}
  labels:
    {{- include "kibana.labels" $root | nindent 4 }}
  annotations:
    "helm.sh/hook": {{ .hook }}
    "helm.sh/hook-weight": "-1"
    "helm.sh/hook-delete-policy": hook-succeeded,before-hook-creation
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $short }}-{{ include "kibana.fullname" $root | trunc 58 | trimSuffix "-" }}
  labels:
    {{- include "kibana.labels" $root | nindent 4 }}
  annotations:
    "helm.sh/hook": {{ .hook }}
    "helm.sh/hook-weight": "-1"
    "helm.sh/hook-delete-policy": hook-succeeded,before-hook-creation
rules:
  - apiGroups: [""]
    resources: [secrets]
    verbs: {{ ternary "[create, update]" "[delete]" (hasPrefix "pre" .hook) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $short }}-{{ include "kibana.fullname" $root | trunc 58 | trimSuffix "-" }}
  labels:
    {{- include "kibana.labels" $root | nindent 4 }}
  annotations:
    "helm.sh/hook": {{ .hook }}
    "helm.sh/hook-weight": "-1"
    "helm.sh/hook-delete-policy": hook-succeeded,before-hook-creation
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $short }}-{{ include "kibana.fullname" $root | trunc 58 | trimSuffix "-" }}
subjects:
  - kind: ServiceAccount
    name: {{ $short }}-{{ include "kibana.fullname" $root | trunc 58 | trimSuffix "-" }}
    namespace: {{ $root.Release.Namespace }}
{{- end -}}
