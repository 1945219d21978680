elasticsearch:
  client:
    hosts: {{ printf "%s://%s:%v" .Values.elasticsearch.scheme (required "elasticsearch.host is needed" (tpl .Values.elasticsearch.host .)) .Values.elasticsearch.port }}
    request_timeout: {{ .Values.elasticsearch.timeout }}
  {{- if .Values.elasticsearch.existingSecret }}
  other_settings:
    username: ${ES_USERNAME}
    password: ${ES_PASSWORD}
  {{- end }}
logging:
  loglevel: {{ .Values.logLevel }}
  logformat: json
  blacklist: [elastic_transport, urllib3]
