{{- define "paramedic.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "paramedic.envFrom" -}}
- configMapRef: {name: paramedic-settings}
{{- if not .Values.temporal.dev.enabled }}
- secretRef: {name: {{ .Values.temporal.secret }}, optional: true}
{{- end }}
{{- end }}

{{- define "paramedic.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/*
The build id of the worker: a value, or else the digest or tag of the image. A build id may not have the colon of a digest.
*/}}
{{- define "paramedic.buildId" -}}
{{- $image := .Values.image -}}
{{ .Values.worker.versioning.buildId | default (replace ":" "-" $image.digest) | default $image.tag | default $.Chart.AppVersion }}
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
{{- $own := merge (dict) (pick $earlier "replicas") (index $values $process) -}}
{{- $image := include "paramedic.image" $root -}}
{{- if $earlier }}{{ $image = printf "%s:%s" $values.image.repository $earlier.tag }}{{ end -}}
{{- $suffix := "" -}}
{{- if $earlier }}{{ $suffix = printf "-%s" (regexReplaceAll "[^a-z0-9]+" (lower $earlier.buildId) "-") }}{{ end -}}
{{- $hasWebhook := and $values.webhook.enabled (eq $process "detector") -}}
{{- $mounts := list -}}
{{- with $values.temporal.clientCertificateSecret }}{{ $mounts = append $mounts (list "temporal-tls" "/etc/paramedic/temporal" .) }}{{ end -}}
{{- with $values.temporal.payloadKeysSecret }}{{ $mounts = append $mounts (list "payload-keys" "/etc/paramedic/payload-keys" .) }}{{ end -}}
{{- if $hasWebhook }}{{ $mounts = append $mounts (list "webhook-certificate" "/etc/paramedic/webhook" "paramedic-webhook") }}{{ end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: paramedic-{{ $process }}{{ $suffix }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: paramedic-{{ $process }}
    app.kubernetes.io/part-of: paramedic
spec:
  replicas: {{ $own.replicas }}
  selector:
    matchLabels:
      app.kubernetes.io/name: paramedic-{{ $process }}
      {{- if $earlier }}
      paramedic.dev/build: {{ trimPrefix "-" $suffix }}
      {{- end }}
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: paramedic-{{ $process }}
        app.kubernetes.io/part-of: paramedic
        {{- if $earlier }}
        paramedic.dev/build: {{ trimPrefix "-" $suffix }}
        {{- end }}
      annotations:
        checksum/settings: {{ include "paramedic.settings" $root | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: paramedic-{{ $process }}
      enableServiceLinks: false
      priorityClassName: {{ $values.priorityClass.name }}
      terminationGracePeriodSeconds: 30
      {{- with $values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              preference:
                matchExpressions:
                  - {key: node-role.kubernetes.io/control-plane, operator: Exists}
      tolerations:
        - {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}
        - {key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule}
        - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 60}
        - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 60}
        {{- with $values.tolerations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      topologySpreadConstraints:
        - topologyKey: kubernetes.io/hostname
          maxSkew: 1
          whenUnsatisfiable: DoNotSchedule
          nodeTaintsPolicy: Honor
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: paramedic-{{ $process }}
        - topologyKey: topology.kubernetes.io/zone
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: paramedic-{{ $process }}
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
      {{- if eq $process "worker" }}
      initContainers:
        - name: setup
          image: {{ $image }}
          command: [paramedic, setup, {{ if $values.temporal.dev.enabled }}--retention, 30d{{ else }}--best-effort{{ end }}]
          envFrom: {{- include "paramedic.envFrom" $root | nindent 12 }}
          resources:
            requests: {cpu: 100m, memory: 128Mi}
            limits: {memory: 256Mi}
          securityContext: {{- include "paramedic.securityContext" $root | nindent 12 }}
          {{- if $values.temporal.clientCertificateSecret }}
          volumeMounts:
            - {name: temporal-tls, mountPath: /etc/paramedic/temporal, readOnly: true}
          {{- end }}
      {{- end }}
      containers:
        - name: {{ $process }}
          image: {{ $image }}
          command: [python, -m, {{ $process }}]
          envFrom: {{- include "paramedic.envFrom" $root | nindent 12 }}
          env:
            {{- if $values.temporal.payloadKeysSecret }}
            - {name: PARAMEDIC_PAYLOAD_KEYS_FILE, value: /etc/paramedic/payload-keys/keys.yaml}
            {{- end }}
            {{- if $hasWebhook }}
            - {name: PARAMEDIC_WEBHOOK_ADDRESS, value: ":9443"}
            {{- end }}
            {{- if and (eq $process "worker") $values.worker.versioning.deployment }}
            - {name: TEMPORAL_DEPLOYMENT_NAME, value: {{ $values.worker.versioning.deployment | quote }}}
            - {name: TEMPORAL_WORKER_BUILD_ID, value: {{ $earlier.buildId | default (include "paramedic.buildId" $root) | quote }}}
            {{- end }}
            - name: PARAMEDIC_IDENTITY
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            - name: PARAMEDIC_NAMESPACE
              valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
          ports:
            - {name: http, containerPort: 8081}
            {{- if $hasWebhook }}
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
          resources: {{- toYaml $own.resources | nindent 12 }}
          securityContext: {{- include "paramedic.securityContext" $root | nindent 12 }}
          {{- with $mounts }}
          volumeMounts:
            {{- range . }}
            - {name: {{ index . 0 }}, mountPath: {{ index . 1 }}, readOnly: true}
            {{- end }}
          {{- end }}
      {{- with $mounts }}
      volumes:
        {{- range . }}
        - name: {{ index . 0 }}
          secret: {secretName: {{ index . 2 }}{{ if eq (index . 0) "webhook-certificate" }}, optional: true{{ end }}}
        {{- end }}
      {{- end }}
{{- end }}
