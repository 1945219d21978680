{{/*
Reference of an image. Takes a dict: image (registry, repository, tag, digest), root.
The global registry wins over the image's own.
*/}}
{{- define "commonlib.image" -}}
{{- $global := default dict .root.Values.global -}}
{{- $registry := coalesce $global.imageRegistry .image.registry -}}
{{- $ref := .image.repository -}}
{{- if $registry -}}{{- $ref = printf "%s/%s" $registry $ref -}}{{- end -}}
{{- $tag := default .root.Chart.AppVersion .image.tag | toString -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $ref .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $ref $tag -}}
{{- end -}}
{{- end -}}

{{/*
Pull secrets, global ones first; entries are names or maps.
*/}}
{{- define "commonlib.imagePullSecrets" -}}
{{- $global := default dict .Values.global -}}
{{- $all := concat (default list $global.imagePullSecrets) (default list .Values.imagePullSecrets) -}}
{{- $names := list -}}
{{- range $all -}}
{{- if eq (typeOf .) "string" -}}
{{- $names = append $names . -}}
{{- else -}}
{{- $names = append $names (required "a pull secret needs a name" .name) -}}
{{- end -}}
{{- end -}}
{{- with $names | uniq -}}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}
