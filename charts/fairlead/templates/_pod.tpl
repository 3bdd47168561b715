{{/*
A pod of a process, the same for all: no privileges, secrets as files that only the process reads, probes on the health port.
(dict "root" $ "role" "api" "name" "fairlead-api" "secret" "fairlead-api" "credential" "api" "env" list "zone" "")
*/}}
{{- define "fairlead.pod" -}}
{{- $root := .root -}}
{{- $role := .role -}}
{{- $own := index $root.Values $role -}}
{{- $table := include "fairlead.table" $root | fromJson -}}
{{- $row := index $table.services $role -}}
{{- $image := include "fairlead.image" (list $root $role) -}}
metadata:
  labels:
    {{- include "fairlead.selector" . | nindent 4 }}
    app.kubernetes.io/part-of: fairlead
    {{- with merge (dict) $own.labels $root.Values.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A pod reads its settings when it starts.
    fairlead.dev/settings: {{ include "fairlead.settings" $root | sha256sum }}
    {{- with merge (dict) $own.annotations $root.Values.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: fairlead-{{ $role }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "fairlead.terminationSeconds" (list $root $role) }}
  {{- with $root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext: {{- include "fairlead.podSecurity" 65532 | nindent 4 }}
  {{- include "fairlead.placement" (dict "root" $root "role" $role "zone" .zone) | nindent 2 }}
  {{- include "fairlead.pullSecrets" $root | nindent 2 }}
  {{- if eq $row.tier "service" }}
  initContainers:
    # Before the new version serves; the database's lock lets one replica migrate and the others wait.
    - name: migrate
      image: {{ $image }}
      imagePullPolicy: {{ include "fairlead.pullPolicy" (list $root $role) }}
      args: [apps/{{ $role }}/dist/bundle/main.js, migrate]
      {{- include "fairlead.surroundings" . | nindent 6 }}
      resources: {{- toYaml $root.Values.migrate.resources | nindent 8 }}
  {{- end }}
  containers:
    - name: main
      image: {{ $image }}
      imagePullPolicy: {{ include "fairlead.pullPolicy" (list $root $role) }}
      {{- include "fairlead.surroundings" . | nindent 6 }}
      ports:
        {{- range $name, $listen := $row.listens }}
        - {name: {{ $name }}, containerPort: {{ $listen.port | int }}}
        {{- end }}
        - {name: health, containerPort: {{ $table.healthPort | int }}}
      startupProbe:
        httpGet: {path: /healthz, port: health}
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: {path: /healthz, port: health}
        periodSeconds: 20
        timeoutSeconds: 3
      readinessProbe:
        httpGet: {path: /readyz, port: health}
        periodSeconds: 5
        timeoutSeconds: 3
      resources: {{- toYaml $own.resources | nindent 8 }}
  volumes:
    # Of root, and readable by the group of the pod alone: a Secret cannot be mounted for a user.
    - name: secrets
      secret: {secretName: {{ .secret }}, defaultMode: 0440}
    - name: infrastructure-ca
      configMap: {name: {{ $root.Values.infrastructureCa }}}
    {{- with include "fairlead.certificateOf" (list $root $role) }}
    - name: certificate
      secret: {secretName: {{ . }}, defaultMode: 0440}
    {{- end }}
    {{- if eq $role "gateway" }}
    - name: audit-rules
      configMap: {name: fairlead-audit-rules}
    {{- end }}
    {{- if and (eq $role "gateway") (not $own.audit.volume) }}
    - name: audit
      # The spool bounds itself; a pod that was taken over does not.
      emptyDir: {sizeLimit: {{ add $own.audit.spoolBytes 67108864 }}}
    {{- end }}
    {{- if eq $role "keys" }}
    - name: checkpoints
      {{- if include "fairlead.checkpointsOutlive" $root }}
      persistentVolumeClaim: {claimName: fairlead-keys-checkpoints}
      {{- else }}
      emptyDir: {sizeLimit: 256Mi}
      {{- end }}
    {{- end }}
    {{- with $own.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* How long a pod has to end: for as long as it goes on accepting, and then 30 s. */}}
{{- define "fairlead.terminationSeconds" -}}
{{- $role := index . 1 -}}
{{- $own := index (index . 0).Values $role -}}
{{- $setting := ternary "doorGraceSeconds" "graceSeconds" (eq $role "gateway") -}}
{{- $grace := index $own $setting | default 0 | int -}}
{{- $seconds := $own.terminationGracePeriodSeconds | default (max 60 (add $grace 30)) | int -}}
{{- if and (hasKey $own $setting) (lt $seconds (int (add $grace 30))) -}}
{{- fail (printf "%s.terminationGracePeriodSeconds is %d, and %s.%s %d: a pod needs 30 s more than that, or what runs would be cut off" $role $seconds $role $setting $grace) -}}
{{- end -}}
{{ $seconds }}
{{- end }}

{{/* What tells the pods of one workload from all others. */}}
{{- define "fairlead.selector" -}}
app.kubernetes.io/name: {{ .role }}
{{- with .instance }}
app.kubernetes.io/instance: {{ . }}
{{- end }}
{{- end }}

{{/* Settings, files and rights of a container of ours: the same for `migrate` as for what then runs. */}}
{{- define "fairlead.surroundings" -}}
{{- $own := index .root.Values .role -}}
{{- $certificate := include "fairlead.certificateOf" (list .root .role) -}}
securityContext: {{- include "fairlead.locked" .root | nindent 2 }}
envFrom:
  - configMapRef: {name: fairlead-settings}
env: {{- include "fairlead.env" . | nindent 2 }}
volumeMounts:
  - {name: secrets, mountPath: /run/fairlead, readOnly: true}
  # Not copied: a CA that is added to it is trusted from the next connection on, without a restart.
  - {name: infrastructure-ca, mountPath: /etc/fairlead, readOnly: true}
  {{- if $certificate }}
  - {name: certificate, mountPath: /etc/fairlead-tls, readOnly: true}
  {{- end }}
  {{- if eq .role "gateway" }}
  - {name: audit, mountPath: /var/lib/fairlead}
  - {name: audit-rules, mountPath: /etc/fairlead-audit, readOnly: true}
  {{- end }}
  {{- if eq .role "keys" }}
  - {name: checkpoints, mountPath: /var/lib/fairlead}
  {{- end }}
  {{- with $own.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* All that is set for one process; refuses what was to take the place of what the chart makes: of two of a name the last one counts. */}}
{{- define "fairlead.env" -}}
{{- $role := .role -}}
{{- $made := include "fairlead.madeEnv" . -}}
{{- $names := keys (include "fairlead.madeSettings" .root | fromYaml) -}}
{{- range $made | fromYamlArray }}{{ $names = append $names .name }}{{ end -}}
{{- $extra := (index .root.Values .role).extraEnv -}}
{{- range $extra -}}
{{- if has .name $names -}}
{{- fail (printf "%s.extraEnv: the chart makes %s of other values, and checks those; say there what is to be different" $role .name) -}}
{{- end -}}
{{- end -}}
{{ $made }}
{{- with $extra }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "fairlead.madeEnv" -}}
{{- $own := index .root.Values .role -}}
{{- $table := include "fairlead.table" .root | fromJson -}}
{{- $row := index $table.services .role -}}
{{- range .env }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
# Else it is what /etc/passwd says, and Node looks for packages there.
- {name: HOME, value: /}
- {name: FAIRLEAD_CREDENTIAL, value: {{ .credential }}}
- {name: FAIRLEAD_NATS_SEED_FILE, value: /run/fairlead/nats.seed}
{{- if eq $row.tier "service" }}
- {name: FAIRLEAD_DATABASE_URL_FILE, value: /run/fairlead/database.url}
{{- end }}
{{- range $file, $setting := include "fairlead.secretFiles" (list .root .role) | fromJson }}
- {name: {{ $setting }}, value: /run/fairlead/{{ $file }}}
{{- end }}
{{- range $listen := $row.listens }}
- {name: {{ $listen.setting }}, value: "0.0.0.0:{{ $listen.port | int }}"}
{{- end }}
{{- if eq .role "api" }}
- {name: FAIRLEAD_API_GRACE_SECONDS, value: {{ $own.graceSeconds | quote }}}
{{- end }}
{{- if include "fairlead.certificateOf" (list .root .role) }}
{{- $setting := ternary "FAIRLEAD_DOOR_TLS" "FAIRLEAD_TLS" (eq .role "gateway") }}
- {name: {{ $setting }}_CERT_FILE, value: /etc/fairlead-tls/tls.crt}
- {name: {{ $setting }}_KEY_FILE, value: /etc/fairlead-tls/tls.key}
{{- end }}
{{- end }}

{{/* Files of the Secret of a process besides its NATS seed and database URL, and the setting that each is for, as JSON. */}}
{{- define "fairlead.secretFiles" -}}
{{- $root := index . 0 -}}
{{- $files := (index (include "fairlead.table" $root | fromJson).services (index . 1)).secrets -}}
{{- if and (eq (index . 1) "keys") (not $root.Values.keys.masterKeyFile) }}{{ $files = omit $files "master.key" }}{{ end -}}
{{- toJson $files -}}
{{- end }}

{{/* "true" where the checkpoints of audit logs outlive the pod of keys: a claim of one node is no good to several replicas. */}}
{{- define "fairlead.checkpointsOutlive" -}}
{{- $own := .Values.keys -}}
{{- with $own.checkpoints.volume -}}
{{- if or (eq (int $own.replicas) 1) (has "ReadWriteMany" .accessModes) }}true{{ end -}}
{{- end -}}
{{- end }}

{{- define "fairlead.certificateOf" -}}
{{- $root := index . 0 -}}
{{- if eq (index . 1) "api" }}{{ include "fairlead.apiCertificate" $root }}{{ else if eq (index . 1) "gateway" }}{{ include "fairlead.doorCertificate" $root }}{{ end -}}
{{- end }}

{{- define "fairlead.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "fairlead.locked" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "fairlead.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - {name: {{ . }}}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where pods go: replicas of a process on different nodes, where there are any, and in different zones. */}}
{{- define "fairlead.placement" -}}
{{- $own := index .root.Values .role | default dict -}}
{{- $selector := merge (dict) ($own.nodeSelector | default dict) .root.Values.nodeSelector -}}
{{- if .zone }}{{ $selector = merge (dict "topology.kubernetes.io/zone" .zone) $selector }}{{ end -}}
{{- with $selector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat ($own.tolerations | default list) .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- $spread := $own.spread | default dict -}}
{{- if or $spread.nodes $spread.zones }}
topologySpreadConstraints:
  {{- range $key, $when := dict "kubernetes.io/hostname" $spread.nodes "topology.kubernetes.io/zone" $spread.zones }}
  {{- if $when }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $when }}
    labelSelector:
      matchLabels: {app.kubernetes.io/name: {{ $.role }}}
  {{- end }}
  {{- end }}
{{- end }}
{{- end }}
