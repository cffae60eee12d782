{{- define "paramedic.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{/*
What every container of ours has. Takes its image, its volume mounts, the root, and another Secret with variables or "".
*/}}
{{- define "paramedic.container" -}}
{{- $root := index . 2 -}}
image: {{ index . 0 | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
envFrom:
  {{- with $root.Values.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  - configMapRef: {name: paramedic-settings}
  {{- if not $root.Values.temporal.dev.enabled }}
  - secretRef: {name: {{ $root.Values.temporal.secret | quote }}, optional: true}
  {{- end }}
  {{- with index . 3 }}
  - secretRef: {name: {{ . | quote }}, optional: true}
  {{- end }}
{{- with index . 1 }}
volumeMounts: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- $own := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) }}
  {{- mergeOverwrite $own ($root.Values.containerSecurityContext | default dict) | toYaml | nindent 2 }}
{{- end }}

{{/*
The build id of the worker: a value, or else the digest or tag of the image. A build id may not have the colon of a digest.
*/}}
{{- define "paramedic.buildId" -}}
{{- $image := .Values.image -}}
{{ .Values.worker.versioning.buildId | default (replace ":" "-" $image.digest) | default $image.tag | default $.Chart.AppVersion }}
{{- end }}

{{/*
A build id as a part of names.
*/}}
{{- define "paramedic.buildName" -}}
{{ regexReplaceAll "[^a-z0-9]+" (lower .) "-" }}
{{- end }}

{{/*
A checksum of the Secrets that a process reads when it starts, as far as the release may read them in the cluster. It is
empty under `helm template`.
*/}}
{{- define "paramedic.secrets" -}}
{{- $root := . -}}
{{- $data := dict -}}
{{- with .Values.temporal -}}
{{- range $name := list .secret .clientCertificateSecret .payloadKeysSecret $root.Values.tracing.secret -}}
{{- if $name -}}
{{- with (lookup "v1" "Secret" $root.Release.Namespace $name).data }}{{ $_ := set $data $name . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $data }}{{ toJson $data | sha256sum }}{{ end -}}
{{- end }}

{{/*
Topology spread constraints: those of the values, which select the Pods of the process unless they say otherwise, or the
default. Takes the process and the root.
*/}}
{{- define "paramedic.topologySpreadConstraints" -}}
{{- $selector := dict "matchLabels" (dict "app.kubernetes.io/name" (printf "paramedic-%s" (index . 0))) -}}
{{- $hash := list "pod-template-hash" -}}
{{- $host := dict "topologyKey" "kubernetes.io/hostname" "maxSkew" 1 "whenUnsatisfiable" "DoNotSchedule" "nodeTaintsPolicy" "Honor" "matchLabelKeys" $hash -}}
{{- $zone := dict "topologyKey" "topology.kubernetes.io/zone" "maxSkew" 1 "whenUnsatisfiable" "ScheduleAnyway" "matchLabelKeys" $hash -}}
{{- $constraints := list $host $zone -}}
{{- if kindIs "slice" (index . 1).Values.topologySpreadConstraints }}{{ $constraints = (index . 1).Values.topologySpreadConstraints }}{{ end -}}
{{- range $constraints }}
{{- $constraint := . }}
{{- if not (hasKey . "labelSelector") }}{{ $constraint = merge (dict "labelSelector" $selector) . }}{{ end }}
- {{ toYaml $constraint | nindent 2 | trim }}
{{- end }}
{{- end }}

{{/*
The Deployment of a process. Takes its name, the root, and for a worker of an earlier build that build. The comments in
base/detector.yaml explain the fields.
*/}}
{{- define "paramedic.deployment" -}}
{{- $process := index . 0 -}}
{{- $root := index . 1 -}}
{{- $earlier := dict -}}
{{- if gt (len .) 2 }}{{ $earlier = index . 2 }}{{ end -}}
{{- $values := $root.Values -}}
{{- $own := mergeOverwrite (dict) (index $values $process) (pick $earlier "replicas") -}}
{{- $image := include "paramedic.image" $root -}}
{{- if $earlier }}{{ $image = printf "%s:%s" $values.image.repository $earlier.tag }}{{ end -}}
{{- $name := printf "paramedic-%s" $process -}}
{{- $labels := dict "app.kubernetes.io/name" $name -}}
{{- $selector := merge (dict) $labels -}}
{{- if $earlier -}}
{{- $build := include "paramedic.buildName" $earlier.buildId -}}
{{- $name = printf "%s-%s" $name $build -}}
{{- $_ := set $selector "paramedic.dev/build" $build -}}
{{- end -}}
{{- $hasWebhook := and $values.webhook.enabled (eq $process "detector") -}}
{{- $volumes := list -}}
{{- with $values.temporal.clientCertificateSecret }}{{ $volumes = append $volumes (list "temporal-tls" "/etc/paramedic/temporal" (dict "secretName" .)) }}{{ end -}}
{{- $setupVolumes := $volumes -}}
{{- with $values.temporal.payloadKeysSecret }}{{ $volumes = append $volumes (list "payload-keys" "/etc/paramedic/payload-keys" (dict "secretName" .)) }}{{ end -}}
{{- if $hasWebhook }}{{ $volumes = append $volumes (list "webhook-certificate" "/etc/paramedic/webhook" (dict "secretName" "paramedic-webhook" "optional" true)) }}{{ end -}}
{{- $notifications := eq $process "worker" | ternary $values.notifications.secret "" -}}
{{- with $notifications }}{{ $volumes = append $volumes (list "notifications" "/etc/paramedic/notifications" (dict "secretName" . "optional" true)) }}{{ end -}}
{{- $annotations := dict "checksum/settings" (include "paramedic.settings" $root | sha256sum) -}}
{{- with include "paramedic.secrets" $root }}{{ $_ := set $annotations "checksum/secrets" . }}{{ end -}}
{{- $deployment := include "paramedic.deploymentText" (dict "process" $process "root" $root "own" $own "image" $image "earlier" $earlier "hasWebhook" $hasWebhook "mounts" (include "paramedic.mounts" (list $volumes $root) | fromYamlArray) "setupMounts" (include "paramedic.mounts" (list $setupVolumes $root) | fromYamlArray)) | fromYaml -}}
{{- with $deployment.Error }}{{ fail . }}{{ end -}}
{{- $_ := set $deployment "metadata" (dict "name" $name "namespace" $root.Release.Namespace "labels" $labels) -}}
{{- $_ := set $deployment.spec "selector" (dict "matchLabels" $selector) -}}
{{- $podLabels := merge (dict) $selector ($values.podLabels | default dict) (include "paramedic.labels" $root | fromYaml) -}}
{{- $_ := set $deployment.spec.template "metadata" (dict "labels" (omit $podLabels "helm.sh/chart") "annotations" (merge $annotations ($values.podAnnotations | default dict))) -}}
{{- $pod := $deployment.spec.template.spec -}}
{{- $secrets := list -}}
{{- range $volumes }}{{ $secrets = append $secrets (dict "name" (index . 0) "secret" (index . 2)) }}{{ end -}}
{{- with concat $secrets ($values.extraVolumes | default list) }}{{ $_ := set $pod "volumes" . }}{{ end -}}
{{- $_ := set $deployment.spec.template "spec" (merge $pod ($values.podSpec | default dict)) -}}
{{ include "paramedic.object" (list $deployment $root) }}
{{- end }}

{{/*
Volume mounts of a container. Takes our volumes and the root.
*/}}
{{- define "paramedic.mounts" -}}
{{- $mounts := list -}}
{{- range index . 0 }}{{ $mounts = append $mounts (dict "name" (index . 0) "mountPath" (index . 1) "readOnly" true) }}{{ end -}}
{{- toYaml (concat $mounts ((index . 1).Values.extraVolumeMounts | default list)) -}}
{{- end }}

{{- define "paramedic.deploymentText" -}}
{{- $values := .root.Values -}}
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: {{ .own.replicas }}
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  template:
    spec:
      serviceAccountName: {{ include "paramedic.serviceAccount" (list .process .root) | quote }}
      enableServiceLinks: false
      priorityClassName: {{ $values.priorityClass.name | quote }}
      terminationGracePeriodSeconds: 30
      {{- with $values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if kindIs "map" $values.affinity }}
      affinity: {{- toYaml $values.affinity | nindent 8 }}
      {{- else }}
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              preference:
                matchExpressions:
                  - {key: node-role.kubernetes.io/control-plane, operator: Exists}
      {{- end }}
      tolerations:
        - {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}
        - {key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule}
        - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 60}
        - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 60}
        {{- with $values.tolerations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      topologySpreadConstraints: {{- include "paramedic.topologySpreadConstraints" (list .process .root) | nindent 8 }}
      securityContext:
        {{- $security := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") }}
        {{- mergeOverwrite $security ($values.podSecurityContext | default dict) | toYaml | nindent 8 }}
      {{- if eq .process "worker" }}
      initContainers:
        - name: setup
          command: [paramedic, setup, {{ if $values.temporal.dev.enabled }}--retention, 30d{{ else }}--best-effort{{ end }}]
          {{- include "paramedic.container" (list .image .setupMounts .root "") | nindent 10 }}
          {{- with $values.extraEnv }}
          env: {{- toYaml . | nindent 12 }}
          {{- end }}
          resources:
            requests: {cpu: 100m, memory: 128Mi}
            limits: {memory: 256Mi}
      {{- end }}
      containers:
        - name: {{ .process }}
          command: [python, -m, {{ .process }}]
          {{- include "paramedic.container" (list .image .mounts .root $values.tracing.secret) | nindent 10 }}
          env:
            {{- if $values.temporal.payloadKeysSecret }}
            - {name: PARAMEDIC_PAYLOAD_KEYS_FILE, value: /etc/paramedic/payload-keys/keys.yaml}
            {{- end }}
            {{- if .hasWebhook }}
            - {name: PARAMEDIC_WEBHOOK_ADDRESS, value: ":9443"}
            {{- end }}
            {{- if and (eq .process "worker") $values.worker.versioning.deployment }}
            - {name: TEMPORAL_DEPLOYMENT_NAME, value: {{ $values.worker.versioning.deployment | quote }}}
            - {name: TEMPORAL_WORKER_BUILD_ID, value: {{ .earlier.buildId | default (include "paramedic.buildId" .root) | quote }}}
            {{- end }}
            - name: PARAMEDIC_IDENTITY
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: PARAMEDIC_NAMESPACE
              valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - {name: http, containerPort: 8081}
            {{- if .hasWebhook }}
            - {name: webhook, containerPort: 9443}
            {{- end }}
          livenessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          resources: {{- toYaml .own.resources | nindent 12 }}
{{- end }}
