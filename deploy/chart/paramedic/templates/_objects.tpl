{{/*
Labels of every object.
*/}}
{{- define "paramedic.labels" -}}
{{- $labels := dict
      "app.kubernetes.io/name" "paramedic"
      "app.kubernetes.io/instance" .Release.Name
      "app.kubernetes.io/version" .Chart.AppVersion
      "app.kubernetes.io/managed-by" .Release.Service
      "app.kubernetes.io/part-of" "paramedic"
      "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") -}}
{{- toYaml (merge $labels (.Values.commonLabels | default dict)) -}}
{{- end }}

{{/*
The name of the ServiceAccount of a process. Takes the process and the root.
*/}}
{{- define "paramedic.serviceAccount" -}}
{{- $process := index . 0 -}}
{{- $account := index (index . 1).Values $process "serviceAccount" -}}
{{- if not (or $account.create $account.name) }}{{ fail (printf "%s.serviceAccount.name: must be set where create is false" $process) }}{{ end -}}
{{ $account.name | default (printf "paramedic-%s" $process) }}
{{- end }}

{{/*
A manifest of kustomize, with the namespaces and ServiceAccounts of the release. Takes the path from base/ or components/,
and the root.
*/}}
{{- define "paramedic.file" -}}
{{- $path := index . 0 -}}
{{- $root := index . 1 -}}
{{- $text := required (printf "the chart lacks %s" $path) ($root.Files.Get $path) -}}
{{- /* In two steps, because a name may be the default of another one. */ -}}
{{- $user := "system:serviceaccount:paramedic-system:" -}}
{{- range $process := list "detector" "worker" -}}
{{- $text = replace (printf "%sparamedic-%s\"" $user $process) (printf "%s<%s>\"" $user $process) $text -}}
{{- end -}}
{{- range $process := list "detector" "worker" -}}
{{- $text = replace (printf "%s<%s>\"" $user $process) (printf "%s%s\"" $user (include "paramedic.serviceAccount" (list $process $root))) $text -}}
{{- end -}}
{{- $text | replace "paramedic-system" "<ours>" | replace "medik8s-leases" "<leases>" | replace "<ours>" $root.Release.Namespace | replace "<leases>" $root.Values.leaseNamespace.name -}}
{{- end }}

{{/*
One object as a document, with the labels of the release. Takes the object and the root.
*/}}
{{- define "paramedic.object" -}}
{{- $object := index . 0 -}}
{{- $root := index . 1 -}}
{{- $labels := include "paramedic.labels" $root | fromYaml -}}
{{- $_ := set $object.metadata "labels" (merge (dict) ($object.metadata.labels | default dict) $labels) -}}
{{- range $subject := $object.subjects -}}
{{- $process := trimPrefix "paramedic-" $subject.name -}}
{{- if has $process (list "detector" "worker") }}{{ $_ := set $subject "name" (include "paramedic.serviceAccount" (list $process $root)) }}{{ end -}}
{{- end -}}
---
{{ toYaml $object }}
{{ end }}

{{/*
All objects of a manifest of kustomize. Takes its path and the root.
*/}}
{{- define "paramedic.manifest" -}}
{{- $root := index . 1 -}}
{{- range splitList "\n---\n" (include "paramedic.file" .) -}}
{{ include "paramedic.object" (list (fromYaml .) $root) }}
{{- end -}}
{{- end }}
