{{/*
Name of the chart, as a label.
*/}}
{{- define "ingress-controller.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
Prefix of all names: the release's name alone when it holds the chart's.
*/}}
{{- define "ingress-controller.fullname" -}}
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

{{/*
Prefix with a suffix that survives the cut at 63 characters. Takes a list: the context, the suffix.
*/}}
{{- define "ingress-controller.suffixed" -}}
{{- $ctx := index . 0 -}}
{{- $suffix := index . 1 -}}
{{- $room := sub 62 (len $suffix) | int -}}
{{- printf "%s-%s" (include "ingress-controller.fullname" $ctx | trunc $room | trimSuffix "-") $suffix -}}
{{- end -}}

{{- define "ingress-controller.controller.fullname" -}}
{{- include "ingress-controller.suffixed" (list . .Values.controller.name) -}}
{{- end -}}

{{- define "ingress-controller.defaultBackend.fullname" -}}
{{- include "ingress-controller.suffixed" (list . .Values.defaultBackend.name) -}}
{{- end -}}

{{- define "ingress-controller.admissionWebhooks.fullname" -}}
{{- include "ingress-controller.suffixed" (list . .Values.controller.admissionWebhooks.name) -}}
{{- end -}}

{{- define "ingress-controller.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "ingress-controller.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "ingress-controller.selectorLabels" -}}
app.kubernetes.io/name: {{ include "ingress-controller.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ingress-controller.labels" -}}
helm.sh/chart: {{ include "ingress-controller.chart" . }}
{{ include "ingress-controller.selectorLabels" . }}
{{- if .Chart.AppVersion }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
app.kubernetes.io/part-of: {{ template "ingress-controller.name" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- if .Values.commonLabels }}
{{ toYaml .Values.commonLabels }}
{{- end }}
{{- end -}}

{{/*
Reference of an image. Takes a dict: root, image, tag (the fallback).
*/}}
{{- define "ingress-controller.image" -}}
{{- $registry := coalesce .image.registry .root.Values.global.image.registry -}}
{{- $tag := .image.tag | default .tag -}}
{{- with $registry }}{{ . }}/{{ end -}}
{{- .image.repository -}}
{{- with $tag }}:{{ . }}{{ end -}}
{{- with .image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- define "ingress-controller.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "ingress-controller.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "ingress-controller.defaultBackend.serviceAccountName" -}}
{{- if .Values.defaultBackend.serviceAccount.create -}}
{{- default (printf "%s-backend" (include "ingress-controller.fullname" . | trunc 55 | trimSuffix "-")) .Values.defaultBackend.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.defaultBackend.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "ingress-controller.electionID" -}}
{{- default (printf "%s-leader" (include "ingress-controller.fullname" . | trunc 56 | trimSuffix "-")) .Values.controller.electionID -}}
{{- end -}}

{{/*
Whether the pods scale by themselves, as "true" or nothing.
*/}}
{{- define "ingress-controller.scales" -}}
{{- if or .Values.controller.autoscaling.enabled .Values.controller.keda.enabled -}}true{{- end -}}
{{- end -}}

{{/*
Values that contradict each other.
*/}}
{{- define "ingress-controller.check" -}}
{{- $c := .Values.controller -}}
{{- if not (has $c.kind (list "Deployment" "DaemonSet")) -}}
{{- fail (printf "controller.kind must be Deployment or DaemonSet, not %q" $c.kind) -}}
{{- end -}}
{{- if and $c.autoscaling.enabled $c.keda.enabled -}}
{{- fail "controller.autoscaling.enabled and controller.keda.enabled exclude each other" -}}
{{- end -}}
{{- if and (eq $c.kind "DaemonSet") (include "ingress-controller.scales" .) -}}
{{- fail "a DaemonSet has no replicas: set controller.kind to Deployment or switch autoscaling off" -}}
{{- end -}}
{{- if and .Values.rbac.scope (not $c.scope.enabled) -}}
{{- fail "rbac.scope needs controller.scope.enabled" -}}
{{- end -}}
{{- $taken := dict (toString $c.service.ports.http) "http" (toString $c.service.ports.https) "https" -}}
{{- range $port, $_ := .Values.tcp -}}
{{- if hasKey $taken $port -}}
{{- fail (printf "tcp.%s: the port is that of controller.service.ports.%s" $port (get $taken $port)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
