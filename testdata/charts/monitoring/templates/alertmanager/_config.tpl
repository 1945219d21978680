{{/*
Every route must lead to a receiver that exists. Takes a dict: route, receivers (names).
*/}}
{{- define "monitoring.alertmanager.checkRoute" -}}
{{- $receivers := .receivers -}}
{{- with .route.receiver -}}
{{- if not (has . $receivers) -}}
{{- fail (printf "alertmanager.config: a route leads to the receiver %q, and receivers has %s" . (join ", " $receivers)) -}}
{{- end -}}
{{- end -}}
{{- range .route.routes -}}
{{- include "monitoring.alertmanager.checkRoute" (dict "route" . "receivers" $receivers) -}}
{{- end -}}
{{- end -}}

{{/*
alertmanager.yaml, from whichever value has it.
*/}}
{{- define "monitoring.alertmanager.config" -}}
{{- if .Values.alertmanager.stringConfig -}}
{{- tpl .Values.alertmanager.stringConfig . -}}
{{- else -}}
{{- $config := .Values.alertmanager.config -}}
{{- if eq (typeOf $config) "string" -}}
{{- $config = tpl $config . | fromYaml -}}
{{- end -}}
{{- if not (dig "route" "receiver" "" $config) -}}
{{- fail "alertmanager.config needs route.receiver" -}}
{{- end -}}
{{- $names := list -}}
{{- range $config.receivers -}}{{- $names = append $names .name -}}{{- end -}}
{{- include "monitoring.alertmanager.checkRoute" (dict "route" $config.route "receivers" $names) -}}
{{- toYaml $config -}}
{{- end -}}
{{- end -}}
