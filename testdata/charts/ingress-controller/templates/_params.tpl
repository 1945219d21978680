{{/*
Arguments of the controller, one line each.
*/}}
{{- define "ingress-controller.params" -}}
- /ingress-controller
{{- if .Values.defaultBackend.enabled }}
- --default-backend-service=$(POD_NAMESPACE)/{{ include "ingress-controller.defaultBackend.fullname" . }}
{{- end }}
{{- if and .Values.controller.publishService.enabled .Values.controller.service.enabled }}
{{- if .Values.controller.service.external.enabled }}
- --publish-service={{ default (printf "$(POD_NAMESPACE)/%s" (include "ingress-controller.controller.fullname" .)) (tpl .Values.controller.publishService.pathOverride .) }}
{{- else if .Values.controller.service.internal.enabled }}
- --publish-service={{ printf "$(POD_NAMESPACE)/%s-internal" (include "ingress-controller.controller.fullname" . | trunc 54 | trimSuffix "-") }}
{{- end }}
{{- end }}
- --election-id={{ include "ingress-controller.electionID" . }}
{{- with .Values.controller.electionTTL }}
- --election-ttl={{ . }}
{{- end }}
- --controller-class={{ .Values.controller.ingressClassResource.controllerValue }}
- --ingress-class={{ .Values.controller.ingressClass }}
- --configmap=$(POD_NAMESPACE)/{{ include "ingress-controller.controller.fullname" . }}
{{- if .Values.tcp }}
- --tcp-services-configmap=$(POD_NAMESPACE)/{{ include "ingress-controller.suffixed" (list . "tcp") }}
{{- end }}
{{- if .Values.udp }}
- --udp-services-configmap=$(POD_NAMESPACE)/{{ include "ingress-controller.suffixed" (list . "udp") }}
{{- end }}
{{- if .Values.controller.scope.enabled }}
- --watch-namespace={{ default "$(POD_NAMESPACE)" .Values.controller.scope.namespace }}
{{- else if .Values.controller.scope.namespaceSelector }}
- --watch-namespace-selector={{ .Values.controller.scope.namespaceSelector }}
{{- end }}
{{- if and .Values.controller.reportNodeInternalIp .Values.controller.hostNetwork }}
- --report-node-internal-ip-address={{ .Values.controller.reportNodeInternalIp }}
{{- end }}
{{- if .Values.controller.admissionWebhooks.enabled }}
- --validating-webhook=:{{ .Values.controller.admissionWebhooks.port }}
- --validating-webhook-certificate={{ .Values.controller.admissionWebhooks.certificate }}
- --validating-webhook-key={{ .Values.controller.admissionWebhooks.key }}
{{- end }}
{{- if .Values.controller.watchIngressWithoutClass }}
- --watch-ingress-without-class=true
{{- end }}
- --enable-metrics={{ .Values.controller.metrics.enabled }}
{{- if ne (int .Values.controller.containerPort.http) 80 }}
- --http-port={{ .Values.controller.containerPort.http }}
{{- end }}
{{- if ne (int .Values.controller.containerPort.https) 443 }}
- --https-port={{ .Values.controller.containerPort.https }}
{{- end }}
{{- range $key, $value := .Values.controller.extraArgs }}
{{- /* a flag without a value is written alone */}}
{{- if $value }}
- --{{ $key }}={{ tpl (toString $value) $ }}
{{- else }}
- --{{ $key }}
{{- end }}
{{- end }}
{{- end -}}
