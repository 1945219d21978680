{{- define "curator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* A CronJob's name has 52 characters, its jobs need the rest. */}}
{{- define "curator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "curator.labels" -}}
app: {{ include "curator.name" . }}
chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
release: {{ .Release.Name }}
heritage: {{ .Release.Service }}
{{- end -}}

{{- define "curator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "curator.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end -}}
{{- end -}}

{{/*
Actions by number: retention first, then the named ones by priority and name.
*/}}
{{- define "curator.actions" -}}
{{- $known := list "alias" "allocation" "close" "delete_indices" "forcemerge" "replicas" "rollover" "shrink" "snapshot" -}}
{{- $all := list -}}
{{- range $prefix, $days := .Values.retention -}}
{{- $filters := list (dict "filtertype" "pattern" "kind" "prefix" "value" $prefix) (dict "filtertype" "age" "source" "name" "direction" "older" "timestring" "%Y.%m.%d" "unit" "days" "unit_count" (int $days)) -}}
{{- $all = append $all (dict "action" "delete_indices" "description" (printf "%s* after %d days" $prefix (int $days)) "options" (dict "ignore_empty_list" true "continue_if_exception" false) "filters" $filters) -}}
{{- end -}}
{{- $byPriority := dict -}}
{{- range $name, $action := .Values.actions -}}
{{- if not (has $action.action $known) -}}
{{- fail (printf "actions.%s.action: %q is not one of %s" $name $action.action (join ", " $known)) -}}
{{- end -}}
{{- $key := printf "%05d/%s" (int (default 100 $action.priority)) $name -}}
{{- $_ := set $byPriority $key (merge (dict "description" (default $name $action.description)) (omit $action "priority")) -}}
{{- end -}}
{{- range $key := keys $byPriority | sortAlpha -}}
{{- $all = append $all (get $byPriority $key) -}}
{{- end -}}
{{- if not $all -}}{{- fail "retention and actions are both empty: there is nothing to do" -}}{{- end -}}
actions:
{{- range $index, $action := $all }}
  {{ add1 $index }}:
    {{- toYaml $action | nindent 4 }}
{{- end }}
{{- end -}}
