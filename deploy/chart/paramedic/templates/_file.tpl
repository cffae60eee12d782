{{/*
A manifest of kustomize, unchanged except for its namespaces. Takes the path from base/ or components/, and the root.
*/}}
{{- define "paramedic.file" -}}
{{- $path := index . 0 -}}
{{- $root := index . 1 -}}
{{- $text := required (printf "the chart lacks %s" $path) ($root.Files.Get $path) -}}
{{- $text | replace "paramedic-system" $root.Release.Namespace | replace "medik8s-leases" $root.Values.leaseNamespace.name -}}
{{- end }}
