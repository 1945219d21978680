{{/*
Short prefix: the operator adds to the names it gets, so there must be room.
*/}}
{{- define "monitoring.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 26 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 26 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/*
Name of one component. Takes a list: the context, the component.
*/}}
{{- define "monitoring.component" -}}
{{- printf "%s-%s" (include "monitoring.fullname" (first .)) (last .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
Labels of one component. Takes a list: the context, the component, and optionally extra labels.
*/}}
{{- define "monitoring.labels" -}}
{{- $root := first . -}}
{{- $extra := dict "app" (printf "monitoring-%s" (index . 1)) "release" $root.Release.Name "heritage" $root.Release.Service -}}
{{- if gt (len .) 2 -}}
{{- $extra = mustMergeOverwrite $extra (index . 2) -}}
{{- end -}}
{{- include "commonlib.labels" (dict "root" $root "extra" $extra) -}}
{{- end -}}

{{- define "monitoring.kubeVersion" -}}
{{- $full := .Values.kubeTargetVersionOverride | default .Capabilities.KubeVersion.Version -}}
{{- regexReplaceAll "-.*$" $full "" -}}
{{- end -}}

{{/*
Selector of a custom resource, or {} for everything. Takes the context.
*/}}
{{- define "monitoring.selector" -}}
{{- if .Values.prometheus.selectorNilUsesHelmValues -}}
matchLabels:
  release: {{ .Release.Name | quote }}
{{- else -}}
{}
{{- end -}}
{{- end -}}

{{/*
Anti-affinity of a custom resource's pods. Takes a dict: mode, label, name.
*/}}
{{- define "monitoring.antiAffinity" -}}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchExpressions" (list (dict "key" "app.kubernetes.io/name" "operator" "In" "values" (list .label)) (dict "key" .label "operator" "In" "values" (list .name)))) -}}
{{- if eq .mode "hard" -}}
{{- dict "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) | toYaml -}}
{{- else if eq .mode "soft" -}}
{{- dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" (list (dict "weight" 100 "podAffinityTerm" $term))) | toYaml -}}
{{- else -}}
{}
{{- end -}}
{{- end -}}

{{/*
Ingress of a web interface. Takes a dict: root, component, values, port.
*/}}
{{- define "monitoring.ingress" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $service := include "monitoring.component" (list .root .component) -}}
{{- $port := .port -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $service }}
  namespace: {{ include "commonlib.namespace" $root }}
  labels:
    {{- include "monitoring.labels" (list $root .component) | nindent 4 }}
  {{- with $values.annotations }}
  annotations:
    {{- tpl (toYaml .) $root | nindent 4 }}
  {{- end }}
spec:
  ingressClassName: {{ $values.ingressClassName }}
  rules:
    {{- range $host := required (printf "%s.ingress.hosts needs a host while it is enabled" .component) (default "" $values.hosts) }}
    - host: {{ tpl $host $root | quote }}
      http:
        paths:
          {{- range $path := $values.paths }}
          - path: {{ $path }}
            pathType: Prefix
            backend:
              service:
                name: {{ $service }}
                port:
                  number: {{ $port }}
          {{- end }}
    {{- end }}
  {{- with $values.tls }}
  tls:
    {{- tpl (toYaml .) $root | nindent 4 }}
  {{- end }}
{{- end -}}

{{/*
ServiceMonitor of a component of this chart. Takes a dict: root, component, monitor, port.
*/}}
{{- define "monitoring.selfMonitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "monitoring.component" (list .root .component) }}
  namespace: {{ include "commonlib.namespace" .root }}
  labels:
    {{- include "monitoring.labels" (list .root .component) | nindent 4 }}
spec:
  selector:
    matchLabels:
      app: monitoring-{{ .component }}
      release: {{ .root.Release.Name | quote }}
      self-monitor: "true"
  namespaceSelector:
    matchNames:
      - {{ include "commonlib.namespace" .root | quote }}
  endpoints:
    {{- range $port := list .port "reloader-web" }}
    - port: {{ $port }}
      path: /metrics
      {{- with $.monitor.interval }}
      interval: {{ . }}
      {{- end }}
    {{- end }}
{{- end -}}
