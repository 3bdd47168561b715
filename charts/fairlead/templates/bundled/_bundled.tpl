{{- define "fairlead.bundledSecrets" -}}
{{- $table := include "fairlead.table" . | fromJson -}}
{{- $names := list "fairlead-infrastructure-ca-key" "fairlead-nats-operator" "fairlead-nats-server" "fairlead-postgres-admin" "fairlead-postgres-server" -}}
{{- range $role, $row := omit $table.services "gateway" }}{{ $names = append $names (printf "fairlead-%s" $role) }}{{ end -}}
{{- range .Values.gateways }}{{ $names = append $names (printf "fairlead-gateway-%s" .name) }}{{ end -}}
{{- toYaml $names -}}
{{- end }}

{{/* (dict "root" $ "what" "nats"): names that a server's certificate is for. */}}
{{- define "fairlead.serverNames" -}}
{{- $name := printf "fairlead-%s" .what -}}
{{- $namespace := .root.Release.Namespace -}}
{{ printf "%s.%s.svc,%s.%s,%s" $name $namespace $name $namespace $name }}
{{- end }}

{{- define "fairlead.claim" -}}
- metadata: {name: data}
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .Values.bundled.storage.storageClassName }}
    storageClassName: {{ . | quote }}
    {{- end }}
    resources: {requests: {storage: {{ .Values.bundled.storage.size }}}}
{{- end }}
