{{/*
Pod template that Deployment and DaemonSet share.
*/}}
{{- define "ingress-controller.podTemplate" -}}
metadata:
  annotations:
    checksum/config: {{ include (print $.Template.BasePath "/controller-configmap.yaml") . | sha256sum }}
    {{- with .Values.controller.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "ingress-controller.labels" . | nindent 4 }}
    app.kubernetes.io/component: controller
    {{- with .Values.controller.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.controller.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.controller.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  dnsPolicy: {{ .Values.controller.dnsPolicy }}
  {{- with .Values.controller.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- if .Values.controller.hostNetwork }}
  hostNetwork: true
  {{- end }}
  serviceAccountName: {{ include "ingress-controller.serviceAccountName" . }}
  automountServiceAccountToken: {{ .Values.serviceAccount.automountServiceAccountToken }}
  terminationGracePeriodSeconds: {{ .Values.controller.terminationGracePeriodSeconds }}
  {{- with .Values.controller.extraInitContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: controller
      image: {{ include "ingress-controller.image" (dict "root" . "image" .Values.controller.image "tag" (printf "v%s" .Chart.AppVersion)) }}
      imagePullPolicy: {{ .Values.controller.image.pullPolicy }}
      {{- with .Values.controller.lifecycle }}
      lifecycle:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      args:
        {{- include "ingress-controller.params" . | nindent 8 }}
      securityContext:
        {{- with .Values.controller.image }}
        runAsNonRoot: true
        runAsUser: {{ .runAsUser }}
        runAsGroup: {{ .runAsGroup }}
        allowPrivilegeEscalation: {{ .allowPrivilegeEscalation }}
        {{- with .seccompProfile }}
        seccompProfile:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        {{- end }}
        capabilities:
          drop:
            - ALL
          add:
            - NET_BIND_SERVICE
        readOnlyRootFilesystem: false
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        {{- with .Values.controller.extraEnvs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.controller.startupProbe }}
      startupProbe:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      livenessProbe:
        {{- toYaml .Values.controller.livenessProbe | nindent 8 }}
      readinessProbe:
        {{- toYaml .Values.controller.readinessProbe | nindent 8 }}
      ports:
        {{- range $name, $port := .Values.controller.containerPort }}
        - name: {{ $name }}
          containerPort: {{ $port }}
          protocol: TCP
          {{- if $.Values.controller.hostPort.enabled }}
          hostPort: {{ get $.Values.controller.hostPort.ports $name | default $port }}
          {{- end }}
        {{- end }}
        {{- if .Values.controller.metrics.enabled }}
        - name: {{ .Values.controller.metrics.portName }}
          containerPort: {{ .Values.controller.metrics.port }}
          protocol: TCP
        {{- end }}
        {{- if .Values.controller.admissionWebhooks.enabled }}
        - name: webhook
          containerPort: {{ .Values.controller.admissionWebhooks.port }}
          protocol: TCP
        {{- end }}
        {{- range $proto := list "tcp" "udp" }}
        {{- range $port, $_ := get $.Values $proto }}
        - name: {{ include "ingress-controller.portName" (list $ $port $proto) }}
          containerPort: {{ $port }}
          protocol: {{ upper $proto }}
          {{- if $.Values.controller.hostPort.enabled }}
          hostPort: {{ $port }}
          {{- end }}
        {{- end }}
        {{- end }}
      {{- if or .Values.controller.admissionWebhooks.enabled .Values.controller.extraVolumeMounts }}
      volumeMounts:
        {{- if .Values.controller.admissionWebhooks.enabled }}
        - name: webhook-cert
          mountPath: {{ dir .Values.controller.admissionWebhooks.certificate }}/
          readOnly: true
        {{- end }}
        {{- with .Values.controller.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with .Values.controller.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- with .Values.controller.extraContainers }}
    {{- if kindIs "string" . }}
    {{- tpl . $ | nindent 4 }}
    {{- else }}
    {{- tpl (toYaml .) $ | nindent 4 }}
    {{- end }}
    {{- end }}
  {{- with .Values.controller.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.controller.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.controller.affinity }}
  affinity:
    {{- tpl (toYaml .) $ | nindent 4 }}
  {{- end }}
  {{- with .Values.controller.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- tpl (toYaml .) $ | nindent 4 }}
  {{- end }}
  {{- if or .Values.controller.admissionWebhooks.enabled .Values.controller.extraVolumes }}
  volumes:
    {{- if .Values.controller.admissionWebhooks.enabled }}
    - name: webhook-cert
      secret:
        secretName: {{ include "ingress-controller.admissionWebhooks.fullname" . }}
        {{- if .Values.controller.admissionWebhooks.certManager.enabled }}
        items:
          - key: tls.crt
            path: {{ base .Values.controller.admissionWebhooks.certificate }}
          - key: tls.key
            path: {{ base .Values.controller.admissionWebhooks.key }}
        {{- end }}
    {{- end }}
    {{- with .Values.controller.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end -}}

{{/*
Name of a TCP or UDP port. Takes a list: the context, the port, the protocol.
*/}}
{{- define "ingress-controller.portName" -}}
{{- $prefix := (index . 0).Values.controller.portNamePrefix -}}
{{- $name := printf "%v-%s" (index . 1) (index . 2) -}}
{{- if $prefix }}{{ printf "%s-%s" $prefix $name | trunc 15 | trimSuffix "-" }}{{ else }}{{ $name }}{{ end -}}
{{- end -}}
