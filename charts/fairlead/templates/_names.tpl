{{/* The table of services, as libs/contracts/services.ts has it. */}}
{{- define "fairlead.table" -}}
{{ .Files.Get "files/services.json" }}
{{- end }}

{{/* Every object has these; `role` too, if it belongs to one process. */}}
{{- define "fairlead.labels" -}}
app.kubernetes.io/part-of: fairlead
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* An image by its digest: (list $ "api"). */}}
{{- define "fairlead.image" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $image := index $root.Values.images $name | default "" -}}
{{- $local := and $root.Values.bundled.enabled $root.Values.bundled.localImages (regexMatch "^localhost/[a-z0-9._/-]+:[A-Za-z0-9._-]+$" $image) -}}
{{- if not (or $local (regexMatch "^[a-z0-9][a-z0-9./:_-]*@sha256:[0-9a-f]{64}$" $image)) -}}
{{- fail (printf "images.%s is %q, which has no digest. Nothing is rendered until it is named as REPOSITORY@sha256:<64 hex digits>: whoever can push a tag would run in the control plane (docs/adr/0032-images-by-digest.md)%s" $name $image (ternary ". One that was loaded into the nodes is taken as localhost/NAME:TAG, with --set bundled.localImages=true" "" $root.Values.bundled.enabled)) -}}
{{- end -}}
{{- $image -}}
{{- end }}

{{/* When it is pulled: (list $ "api"). Who names it localhost/… means what was loaded into the node, and not whatever answers there by HTTP. */}}
{{- define "fairlead.pullPolicy" -}}
{{- $root := index . 0 -}}
{{- hasPrefix "localhost/" (index $root.Values.images (index . 1)) | ternary "Never" $root.Values.imagePullPolicy -}}
{{- end }}

{{- define "fairlead.portAt" -}}
{{- $root := index . 0 -}}
{{- if $root.Values.gatewayApi.enabled }}{{ $root.Values.gatewayApi.port }}{{ else }}{{ index $root.Values.publicPorts (index . 1) }}{{ end -}}
{{- end }}

{{- define "fairlead.connectHost" -}}
{{ .Values.names.connect | default .Values.names.gateways }}
{{- end }}

{{- define "fairlead.natsUrl" -}}
{{- if .Values.bundled.enabled -}}
tls://fairlead-nats.{{ .Release.Namespace }}.svc:4222
{{- else -}}
{{ .Values.nats.url | default (printf "tls://nats.%s.svc:%v" .Release.Namespace .Values.nats.port) }}
{{- end -}}
{{- end }}

{{/* Secrets with TLS certificates that are not of keys; empty: none. */}}
{{- define "fairlead.doorCertificate" -}}
{{ .Values.gateway.certificateSecret | default (ternary "fairlead-doors-tls" "" .Values.certManager.enabled) }}
{{- end }}
{{- define "fairlead.apiCertificate" -}}
{{ .Values.api.certificateSecret | default (ternary "fairlead-api-tls" "" .Values.certManager.enabled) }}
{{- end }}

{{/* What values.schema.json cannot say. */}}
{{- define "fairlead.check" -}}
{{- if regexMatch "\\\\u202[89]|\\x{0085}" (toJson .Values) }}
{{- fail "a value has a U+0085, U+2028 or U+2029, which some readers of YAML take for the end of a line: what follows it would be a field of its own" }}
{{- end }}
{{- range $name := list "api" "gateways" }}
{{- if not (index $.Values.names $name) }}
{{- fail (printf "names.%s is empty: give the host name that people and agents use, as --set names.%s=…" $name $name) }}
{{- end }}
{{- end }}
{{- if has .Values.names.api (list .Values.names.gateways .Values.names.connect .Values.names.link (get .Values.settings "FAIRLEAD_AGENT_SERVER_NAME")) }}
{{- fail (printf "names.api and another name, of gateways, are both %s: give the admin API a name of its own, or a gateway that was taken over could pass for it (docs/adr/0013-two-roots.md)" .Values.names.api) }}
{{- end }}
{{- with .Values.names.clusterDomain }}
{{- if hasSuffix (printf ".%s" .) $.Values.names.api }}
{{- fail (printf "names.api is %s, below %s (names.clusterDomain), where gateways are certified for names of clusters: give the admin API a name elsewhere, or a gateway that was taken over could pass for it (docs/adr/0013-two-roots.md)" $.Values.names.api .) }}
{{- end }}
{{- end }}
{{- $certificate := include "fairlead.doorCertificate" . }}
{{- if and $certificate (eq $certificate (include "fairlead.apiCertificate" .)) }}
{{- fail (printf "gateway.certificateSecret and api.certificateSecret are both %s: give the admin API a certificate and a key of its own, or a gateway that was taken over could pass for it (docs/adr/0013-two-roots.md)" $certificate) }}
{{- end }}
{{- include "fairlead.checkEnv" . }}
{{- include "fairlead.checkSecrets" . }}
{{- range $role := prepend (keys (include "fairlead.table" . | fromJson).services | sortAlpha) "" }}
{{- range $name, $value := $role | empty | ternary $.Values.annotations (get (get $.Values $role | default dict) "annotations") }}
{{- if hasPrefix "fairlead.dev/" $name }}
{{- fail (printf "%s: %s is the chart's own annotation" ($role | empty | ternary "annotations" (printf "%s.annotations" $role)) $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.gatewayApi.enabled (or (not .Values.names.connect) (eq .Values.names.connect .Values.names.gateways)) }}
{{- fail "names.connect: behind one port the CONNECT door needs a name of its own (docs/one-port.md)" }}
{{- end }}
{{- if and .Values.gatewayApi.enabled (not .Values.gatewayApi.parentRefs) }}
{{- fail "gatewayApi.parentRefs is empty: name the Gateway that the routes belong to" }}
{{- end }}
{{- $names := list }}
{{- range .Values.gateways }}{{ $names = append $names .name }}{{ end }}
{{- if ne (len $names) (len (uniq $names)) }}
{{- fail "gateways: two have the same name, and so one NATS identity" }}
{{- end }}
{{- end }}

{{/* What processes may not be told. What the chart makes itself, fairlead.settings and fairlead.env refuse. */}}
{{- define "fairlead.checkEnv" -}}
{{- $services := (include "fairlead.table" . | fromJson).services }}
{{- $known := list }}
{{- range $services }}{{ $known = concat $known .settings }}{{ end }}
{{- range $name, $value := .Values.settings }}
{{- include "fairlead.checkName" (list (printf "settings.%s" $name) $name $known) }}
{{- if regexMatch "^(FAIRLEAD_MASTER_KEY|OTEL_.*HEADERS)$" $name }}
{{- fail (printf "settings.%s holds a secret, and settings are no place for one: name a Secret in <process>.extraEnv, as valueFrom" $name) }}
{{- end }}
{{- if eq $name "FAIRLEAD_DEBUG_VIEW" }}
{{- fail "settings.FAIRLEAD_DEBUG_VIEW shows users and targets to whoever comes to the health port: give it to one process, in <process>.extraEnv" }}
{{- end }}
{{- end }}
{{- range $role, $row := $services }}
{{- range (index $.Values $role).extraEnv }}
{{- include "fairlead.checkName" (list (printf "%s.extraEnv: %s" $role .name) .name $row.settings) }}
{{- if and (regexMatch "^(FAIRLEAD_MASTER_KEY|OTEL_.*HEADERS)$" .name) (hasKey . "value") }}
{{- fail (printf "%s.extraEnv: %s holds a secret, and values are no place for one: name a Secret, as valueFrom" $role .name) }}
{{- end }}
{{- if and (eq .name "FAIRLEAD_DEBUG_VIEW") (not $.Values.networkPolicies.health.peers) }}
{{- fail (printf "%s.extraEnv: FAIRLEAD_DEBUG_VIEW shows users and targets to whoever comes to the health port, and networkPolicies.health.peers lets everybody come: name who may first" $role) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* (list WHERE NAME KNOWN): whether a process may be told this, whatever it says; KNOWN are the settings that are read there. */}}
{{- define "fairlead.checkName" -}}
{{- $where := index . 0 -}}
{{- $name := index . 1 -}}
{{- if contains "_INSECURE_" $name }}
{{- fail (printf "%s switches a protection off: the chart takes no such setting" $where) }}
{{- end }}
{{- if and (regexMatch "^(LD|OPENSSL|NODE)_|^(PATH|GLIBC_TUNABLES)$" $name) (not (has $name (list "NODE_OPTIONS" "NODE_EXTRA_CA_CERTS"))) }}
{{- fail (printf "%s has a process run other code, or believe whoever answers: the chart takes no such variable" $where) }}
{{- end }}
{{- if regexMatch "^FAIRLEAD_(DOOR_)?TLS_(CERT|KEY)_FILE$" $name }}
{{- fail (printf "%s: name the certificate in certificateSecret, where it is seen that doors and admin API have not the same one" $where) }}
{{- end }}
{{- if and (hasPrefix "FAIRLEAD_" $name) (not (has $name (index . 2))) }}
{{- fail (printf "%s: nothing reads that there; docs/settings.md lists what each process reads" $where) }}
{{- end }}
{{- end }}

{{/* The Secrets of all processes, and of the NATS and Postgres that the chart brings, as {"list": […]}. */}}
{{- define "fairlead.secrets" -}}
{{- $secrets := list "fairlead-nats-server" "fairlead-nats-operator" "fairlead-postgres-server" "fairlead-postgres-admin" "fairlead-infrastructure-ca-key" }}
{{- range $role := keys (omit (include "fairlead.table" . | fromJson).services "gateway") }}{{ $secrets = append $secrets (printf "fairlead-%s" $role) }}{{ end }}
{{- range .Values.gateways }}{{ $secrets = append $secrets (printf "fairlead-gateway-%s" .name) }}{{ end }}
{{- dict "list" $secrets | toJson }}
{{- end }}

{{/* Nobody has what is another process's: least of all a gateway, which everybody comes to. */}}
{{- define "fairlead.checkSecrets" -}}
{{- $secrets := (include "fairlead.secrets" . | fromJson).list }}
{{- range $role := keys (include "fairlead.table" . | fromJson).services | sortAlpha }}
{{- $own := index $.Values $role }}
{{- $mounted := list }}
{{- with $own.certificateSecret }}{{ $mounted = append $mounted . }}{{ end }}
{{- range $own.extraEnv }}{{ with .valueFrom }}{{ with .secretKeyRef }}{{ $mounted = append $mounted .name }}{{ end }}{{ end }}{{ end }}
{{- range $own.extraVolumes }}
{{- with .secret }}{{ $mounted = append $mounted .secretName }}{{ end }}
{{- with .projected }}{{ range .sources }}{{ with .secret }}{{ $mounted = append $mounted .name }}{{ end }}{{ end }}{{ end }}
{{- end }}
{{- $others := concat $secrets (without (list "fairlead-doors-tls" "fairlead-api-tls") ($own.certificateSecret | default "")) }}
{{- if ne $role "api" }}{{ $others = append $others (include "fairlead.apiCertificate" $ | trim) }}{{ end }}
{{- if ne $role "gateway" }}{{ $others = append $others (include "fairlead.doorCertificate" $ | trim) }}{{ end }}
{{- range $mounted }}
{{- if or (has . $others) (and (hasPrefix "fairlead-gateway-" .) (ne . $own.certificateSecret)) }}
{{- fail (printf "%s: the Secret %s is of one process alone, and is mounted there by the chart; name another one in extraEnv, extraVolumes and certificateSecret" $role .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
