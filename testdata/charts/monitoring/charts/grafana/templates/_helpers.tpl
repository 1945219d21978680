{{/*
Secret with the first user.
*/}}
{{- define "grafana.adminSecret" -}}
{{- .Values.admin.existingSecret | default (include "commonlib.fullname" .) -}}
{{- end -}}

{{/*
grafana.ini: keys without a section first, then the sections.
*/}}
{{- define "grafana.ini" -}}
{{- $ini := index .Values "grafana.ini" -}}
{{- range $key, $value := $ini -}}
{{- if not (kindIs "map" $value) }}
{{ $key }} = {{ tpl (toString $value) $ }}
{{- end -}}
{{- end -}}
{{- range $section, $keys := $ini -}}
{{- if kindIs "map" $keys }}
[{{ $section }}]
{{- range $key, $value := $keys }}
{{ $key }} = {{ if kindIs "slice" $value }}{{ join "," $value }}{{ else if kindIs "string" $value }}{{ tpl $value $ }}{{ else }}{{ $value }}{{ end }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
A sidecar that fills one folder. Takes a dict: root, kind, settings.
*/}}
{{- define "grafana.sidecar" -}}
{{- $values := .root.Values -}}
- name: grafana-sc-{{ .kind }}
  image: {{ include "commonlib.image" (dict "image" $values.sidecar.image "root" .root) | quote }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  env:
    {{- $env := dict "METHOD" "WATCH" "LABEL" .settings.label "LABEL_VALUE" .settings.labelValue "FOLDER" .settings.folder "RESOURCE" "both" }}
    {{- with .settings.searchNamespace }}{{ $_ := set $env "NAMESPACE" . }}{{ end }}
    {{- with .settings.folderAnnotation }}{{ $_ := set $env "FOLDER_ANNOTATION" . }}{{ end }}
    {{- if ne .kind "dashboards" }}
    {{- $_ := set $env "REQ_URL" (printf "http://localhost:%v/api/admin/provisioning/%s/reload" $values.service.targetPort (ternary "alerting" .kind (eq .kind "alerts"))) }}
    {{- end }}
    {{- range $name, $value := $env }}
    - name: {{ $name }}
      value: {{ $value | quote }}
    {{- end }}
    {{- include "grafana.adminEnv" (dict "root" .root "prefix" "REQ_USERNAME REQ_PASSWORD") | nindent 4 }}
  {{- with $values.sidecar.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities:
      drop: [ALL]
    seccompProfile:
      type: RuntimeDefault
  volumeMounts:
    - name: sc-{{ .kind }}
      mountPath: {{ .settings.folder | quote }}
{{- end -}}

{{/*
User and password as environment. Takes a dict: root, prefix (both names with a space between).
*/}}
{{- define "grafana.adminEnv" -}}
{{- $root := .root -}}
{{- $names := splitList " " .prefix -}}
{{- range $i, $key := list "userKey" "passwordKey" }}
- name: {{ index $names $i }}
  valueFrom:
    secretKeyRef:
      name: {{ include "grafana.adminSecret" $root }}
      key: {{ get $root.Values.admin $key }}
{{- end }}
{{- end -}}
