{{/* All of them, as YAML: what is made of other values, and what `settings` says besides. */}}
{{- define "fairlead.settings" -}}
{{- $made := include "fairlead.madeSettings" . | fromYaml -}}
{{- range $name := keys .Values.settings | sortAlpha }}
{{- if hasKey $made $name }}{{ fail (printf "settings.%s: the chart makes it of other values, and checks those; say there what is to be different" $name) }}{{ end -}}
{{- end }}
{{- merge $made .Values.settings | toYaml -}}
{{- end }}

{{- define "fairlead.madeSettings" -}}
{{- $gateways := .Values.names.gateways -}}
FAIRLEAD_NATS_URL: {{ include "fairlead.natsUrl" . | quote }}
FAIRLEAD_NATS_CA_FILE: /etc/fairlead/infrastructure-ca.crt
FAIRLEAD_DATABASE_CA_FILE: /etc/fairlead/infrastructure-ca.crt
FAIRLEAD_HEALTH_LISTEN: "0.0.0.0:8080"
FAIRLEAD_LINK_ENDPOINTS: {{ printf "%s:%s" (.Values.names.link | default $gateways) (include "fairlead.portAt" (list . "link")) | quote }}
FAIRLEAD_PUBLIC_URL: {{ printf "https://%s:%s" .Values.names.api (include "fairlead.portAt" (list . "api")) | trimSuffix ":443" | quote }}
FAIRLEAD_DOORS: {{ printf "gateway=https://%s:%s" $gateways (include "fairlead.portAt" (list . "door")) | trimSuffix ":443" | quote }}
FAIRLEAD_CONNECT_DOORS: {{ printf "gateway=https://%s:%s" (include "fairlead.connectHost" .) (include "fairlead.portAt" (list . "connect")) | trimSuffix ":443" | quote }}
FAIRLEAD_CLUSTER_DOMAIN: {{ .Values.names.clusterDomain | quote }}
FAIRLEAD_PROXY_PROTOCOL_FROM: {{ join "," .Values.proxyProtocolFrom | quote }}
FAIRLEAD_AGENT_IMAGE: {{ include "fairlead.image" (list . "agent") | quote }}
FAIRLEAD_INSTALLER_IMAGE: {{ include "fairlead.image" (list . "installer") | quote }}
{{- if and .Values.bundled.enabled .Values.bundled.localImages }}
FAIRLEAD_INSECURE_IMAGE_TAGS: "true"
{{- end }}
FAIRLEAD_API_SERVING_NAMES: {{ .Values.names.api | quote }}
FAIRLEAD_GATEWAY_SERVING_NAMES: {{ include "fairlead.gatewayNames" . | quote }}
{{- end }}

{{/* What the doors are certified for. */}}
{{- define "fairlead.gatewayNames" -}}
{{- $names := list .Values.names.gateways (include "fairlead.connectHost" .) -}}
{{- with .Values.names.clusterDomain }}{{ $names = append $names (printf "*.%s" .) }}{{ end -}}
{{- join "," (uniq $names) -}}
{{- end }}
