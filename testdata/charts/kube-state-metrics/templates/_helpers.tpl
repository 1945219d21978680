{{- define "kube-state-metrics.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "kube-state-metrics.selectorLabels" -}}
app.kubernetes.io/name: kube-state-metrics
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kube-state-metrics.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{ include "kube-state-metrics.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "kube-state-metrics.image" -}}
{{- $global := default dict .Values.global -}}
{{- printf "%s/%s:%s" (coalesce $global.imageRegistry .Values.image.registry) .Values.image.repository (.Values.image.tag | default (printf "v%s" .Chart.AppVersion)) -}}
{{- end -}}

{{/*
API groups of the collectors, as YAML: group to its resources.
*/}}
{{- define "kube-state-metrics.groups" -}}
{{- $known := dict
  "configmaps" "" "endpoints" "" "limitranges" "" "namespaces" "" "nodes" "" "persistentvolumeclaims" "" "persistentvolumes" "" "pods" ""
  "replicationcontrollers" "" "resourcequotas" "" "secrets" "" "services" ""
  "daemonsets" "apps" "deployments" "apps" "replicasets" "apps" "statefulsets" "apps"
  "cronjobs" "batch" "jobs" "batch" "horizontalpodautoscalers" "autoscaling"
  "ingresses" "networking.k8s.io" "networkpolicies" "networking.k8s.io"
  "poddisruptionbudgets" "policy" "storageclasses" "storage.k8s.io" "volumeattachments" "storage.k8s.io"
  "leases" "coordination.k8s.io" "certificatesigningrequests" "certificates.k8s.io"
-}}
{{- $groups := dict -}}
{{- range .Values.collectors -}}
{{- if not (hasKey $known .) -}}{{- fail (printf "collectors: nobody knows %q" .) -}}{{- end -}}
{{- $group := get $known . -}}
{{- $_ := set $groups $group (append (default list (get $groups $group)) .) -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end -}}
