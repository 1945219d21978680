{{/*
What all systems have.
*/}}
{{- define "exporter.base" -}}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ include "commonlib.fullname" . }}
  namespace: {{ include "commonlib.namespace" . }}
  labels:
    {{- include "commonlib.labels" . | nindent 4 }}
spec:
  updateStrategy:
    {{- toYaml .Values.updateStrategy | nindent 4 }}
  selector:
    matchLabels:
      {{- include "commonlib.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "commonlib.labels" . | nindent 8 }}
        jobLabel: {{ .Values.service.jobName }}
    spec:
      automountServiceAccountToken: {{ .Values.serviceAccount.automountServiceAccountToken }}
      serviceAccountName: {{ include "commonlib.serviceAccountName" . }}
      {{- include "commonlib.imagePullSecrets" . | nindent 6 }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      nodeSelector:
        {{- mustMergeOverwrite (deepCopy .Values.nodeSelector) (dict "kubernetes.io/os" .Values.os) | toYaml | nindent 8 }}
      {{- with .Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}

{{/*
Flags of the collectors that are switched.
*/}}
{{- define "exporter.collectors" -}}
{{- range $name, $on := .Values.collectors }}
- --{{ ternary "" "no-" $on }}collector.{{ $name }}
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "exporter.linux" -}}
spec:
  template:
    spec:
      hostNetwork: {{ .Values.hostNetwork }}
      hostPID: true
      securityContext:
        fsGroup: 65534
        runAsGroup: 65534
        runAsNonRoot: true
        runAsUser: 65534
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: node-exporter
          image: {{ include "commonlib.image" (dict "image" (merge (dict "tag" (default (printf "v%s" .Chart.AppVersion) .Values.image.tag)) .Values.image) "root" .) }}
          args:
            {{- if .Values.hostRootFsMount.enabled }}
            - --path.procfs=/host/root/proc
            - --path.sysfs=/host/root/sys
            - --path.rootfs=/host/root
            {{- end }}
            - --web.listen-address=[$(HOST_IP)]:{{ .Values.service.port }}
            {{- include "exporter.collectors" . | nindent 12 }}
          env:
            - name: HOST_IP
              {{- if .Values.hostNetwork }}
              valueFrom:
                fieldRef:
                  fieldPath: status.hostIP
              {{- else }}
              value: 0.0.0.0
              {{- end }}
          {{- include "exporter.container" . | nindent 10 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          {{- if .Values.hostRootFsMount.enabled }}
          volumeMounts:
            - name: root
              mountPath: /host/root
              mountPropagation: HostToContainer
              readOnly: true
      volumes:
        - name: root
          hostPath:
            path: /
          {{- end }}
{{- end -}}

{{- define "exporter.windows" -}}
spec:
  template:
    spec:
      hostNetwork: true
      securityContext:
        windowsOptions:
          hostProcess: true
          runAsUserName: NT AUTHORITY\system
      containers:
        - name: windows-exporter
          image: {{ include "commonlib.image" (dict "image" .Values.image "root" .) }}
          args:
            - --config.file=%CONTAINER_SANDBOX_MOUNT_POINT%/config.yml
            - --web.listen-address=:{{ .Values.service.port }}
            {{- include "exporter.collectors" . | nindent 12 }}
          {{- include "exporter.container" . | nindent 10 }}
          volumeMounts:
            - name: config
              mountPath: /config.yml
              subPath: config.yml
      volumes:
        - name: config
          configMap:
            name: {{ include "commonlib.fullname" . }}
{{- end -}}

{{- define "exporter.container" -}}
ports:
  - name: {{ .Values.service.portName }}
    containerPort: {{ .Values.service.port }}
    {{- if or .Values.hostNetwork (eq .Values.os "windows") }}
    hostPort: {{ .Values.service.port }}
    {{- end }}
    protocol: TCP
livenessProbe:
  httpGet:
    path: /
    port: {{ .Values.service.portName }}
readinessProbe:
  httpGet:
    path: /
    port: {{ .Values.service.portName }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "exporter.overrides" -}}
{{- include "commonlib.render" (dict "value" .Values.overrides "root" .) -}}
{{- end -}}

{{- define "exporter.linux.merged" -}}
{{- include "commonlib.merge" (list . "exporter.linux" "exporter.base") -}}
{{- end -}}
{{- define "exporter.windows.merged" -}}
{{- include "commonlib.merge" (list . "exporter.windows" "exporter.base") -}}
{{- end -}}
