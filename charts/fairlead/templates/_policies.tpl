{{/* Egress rules of {peers, ports}. No peers: none at all, and not everybody. */}}
{{- define "fairlead.egressTo" -}}
{{- if .peers -}}
- to: {{- toYaml .peers | nindent 4 }}
  ports:
    {{- range .ports }}
    - {protocol: TCP, port: {{ . }}}
    {{- end }}
{{- else -}}
[]
{{- end -}}
{{- end }}
