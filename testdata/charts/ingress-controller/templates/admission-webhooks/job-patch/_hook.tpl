{{/*
Whether hook jobs make the certificate, as "true" or nothing.
*/}}
{{- define "ingress-controller.patch.enabled" -}}
{{- $w := .Values.controller.admissionWebhooks -}}
{{- if and $w.enabled $w.patch.enabled (not $w.certManager.enabled) -}}true{{- end -}}
{{- end -}}

{{/*
Metadata of an object that only lives for the hook. Takes a dict: root, hooks, and weight when it matters.
*/}}
{{- define "ingress-controller.patch.annotations" -}}
helm.sh/hook: {{ .hooks }}
{{- with .weight }}
helm.sh/hook-weight: {{ . | quote }}
{{- end }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- with .root.Values.controller.admissionWebhooks.annotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
One of the two jobs. Takes a dict: root, job (its values), hooks, args.
*/}}
{{- define "ingress-controller.patch.job" -}}
{{- $root := .root -}}
{{- $patch := $root.Values.controller.admissionWebhooks.patch -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ printf "%s-%s" (include "ingress-controller.admissionWebhooks.fullname" $root | trunc 56 | trimSuffix "-") .job.name }}
  namespace: {{ include "ingress-controller.namespace" $root }}
  annotations:
    {{- include "ingress-controller.patch.annotations" . | nindent 4 }}
  labels:
    {{- include "ingress-controller.labels" $root | nindent 4 }}
    app.kubernetes.io/component: admission-webhook
    {{- with $patch.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- if not (kindIs "invalid" $patch.ttlSecondsAfterFinished) }}
  ttlSecondsAfterFinished: {{ $patch.ttlSecondsAfterFinished }}
  {{- end }}
  template:
    metadata:
      name: {{ printf "%s-%s" (include "ingress-controller.admissionWebhooks.fullname" $root | trunc 56 | trimSuffix "-") .job.name }}
      {{- with $patch.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      labels:
        {{- include "ingress-controller.labels" $root | nindent 8 }}
        app.kubernetes.io/component: admission-webhook
        {{- with $patch.labels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- with $patch.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .job.name }}
          image: {{ include "ingress-controller.image" (dict "root" $root "image" $patch.image "tag" "") }}
          imagePullPolicy: {{ $patch.image.pullPolicy }}
          args:
            {{- range .args }}
            - {{ . }}
            {{- end }}
          env:
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop:
                - ALL
          {{- with .job.resources }}
          resources:
            {{- toYaml . | nindent 12 }}
          {{- end }}
      restartPolicy: OnFailure
      serviceAccountName: {{ include "ingress-controller.admissionWebhooks.fullname" $root }}
      {{- with $patch.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $patch.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $patch.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
