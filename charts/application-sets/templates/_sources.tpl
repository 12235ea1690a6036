{{/*
application-sets.source: the component's chart. `chart` and `path` are both written and one
of them renders empty: Argo CD drops an empty one, and a level of the hierarchy may change a
chart from a Helm repository to Git.
*/}}
{{- define "application-sets.source" -}}
{{- if eq (.entry.kind | default "chart") "manifests" -}}
{{- include "application-sets.folder" . -}}
{{- else -}}
{{- $helm := dict -}}
{{- range $k, $v := (.entry.helm | default dict) }}{{ $_ := set $helm $k $v }}{{ end -}}
{{- if .plugin -}}
  {{- $_ := set $helm "releaseName" "{{ .releaseName }}" -}}
  {{- $_ := set $helm "values" "{{ .helmValues }}" -}}
  {{- dict "repoURL" "{{ .chart.repoURL }}" "chart" "{{ .chart.name }}" "path" "{{ .chart.path }}" "targetRevision" "{{ .chart.version }}" "helm" $helm | toYaml -}}
{{- else -}}
  {{- $_ := set $helm "releaseName" (.entry.releaseName | default .component) -}}
  {{- with .entry.values -}}
    {{- $_ := set $helm "valuesObject" (get (include "application-sets.localValues" (dict "root" $.root "component" $.component "value" .) | fromYaml) "v") -}}
  {{- end -}}
  {{- if .root.Values.hierarchy.repoURL -}}
    {{- $files := include "application-sets.valueFiles" . | fromYamlArray -}}
    {{- $_ := set $helm "valueFiles" (concat ($helm.valueFiles | default list) $files) -}}
    {{- $_ := set $helm "ignoreMissingValueFiles" true -}}
  {{- end -}}
  {{- $source := dict "repoURL" (trimPrefix "oci://" .entry.chart.repoURL) "targetRevision" .entry.chart.version "helm" $helm -}}
  {{- with .entry.chart.name }}{{ $_ := set $source "chart" . }}{{ end -}}
  {{- with .entry.chart.path }}{{ $_ := set $source "path" . }}{{ end -}}
  {{- toYaml $source -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
application-sets.folder: a folder of manifests. Argo CD finds out whether it is a kustomization,
unless the entry sets `directory` or `kustomize`.
*/}}
{{- define "application-sets.folder" -}}
{{- $source := dict "repoURL" .entry.chart.repoURL "path" .entry.chart.path "targetRevision" .entry.chart.version -}}
{{- if .plugin -}}
  {{- $source = dict "repoURL" "{{ .chart.repoURL }}" "path" "{{ .chart.path }}" "targetRevision" "{{ .chart.version }}" -}}
{{- end -}}
{{- range $tool := list "directory" "kustomize" -}}
  {{- with get $.entry $tool }}{{ $_ := set $source $tool . }}{{ end -}}
{{- end -}}
{{- toYaml $source -}}
{{- end }}

{{/*
application-sets.companions: the sources of the component's further charts, each with a values
file of its own at each level. They are those of the entry, whatever a level says.
*/}}
{{- define "application-sets.companions" -}}
{{- $out := list -}}
{{- range $name, $declared := .entry.companions -}}
  {{- $chart := $declared.chart | default dict -}}
  {{- $helm := dict -}}
  {{- if $.plugin -}}
    {{- $from := printf "(index .companions %q)" $name -}}
    {{- $_ := set $helm "releaseName" (printf "{{ %s.releaseName }}" $from) -}}
    {{- $_ := set $helm "values" (printf "{{ %s.helmValues }}" $from) -}}
    {{- $source := dict "helm" $helm -}}
    {{- range $key, $field := dict "repoURL" "repoURL" "chart" "name" "path" "path" "targetRevision" "version" -}}
      {{- $_ := set $source $key (printf "{{ %s.chart.%s }}" $from $field) -}}
    {{- end -}}
    {{- $out = append $out $source -}}
  {{- else -}}
    {{- $_ := set $helm "releaseName" ($declared.releaseName | default (printf "%s-%s" ($.entry.releaseName | default $.component) $name)) -}}
    {{- with $declared.values -}}
      {{- $_ := set $helm "valuesObject" (get (include "application-sets.localValues" (dict "root" $.root "component" $.component "value" .) | fromYaml) "v") -}}
    {{- end -}}
    {{- if $.root.Values.hierarchy.repoURL -}}
      {{- $file := printf "%s/%s.yaml" (dir $.root.Values.hierarchy.file) $name -}}
      {{- $_ := set $helm "valueFiles" (include "application-sets.valueFiles" (merge (dict "file" $file) $) | fromYamlArray) -}}
      {{- $_ := set $helm "ignoreMissingValueFiles" true -}}
    {{- end -}}
    {{- $source := dict "repoURL" (trimPrefix "oci://" $chart.repoURL) "targetRevision" $chart.version "helm" $helm -}}
    {{- with $chart.name }}{{ $_ := set $source "chart" . }}{{ end -}}
    {{- with $chart.path }}{{ $_ := set $source "path" . }}{{ end -}}
    {{- $out = append $out $source -}}
  {{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end }}

{{/* application-sets.sources: `source` or `sources` of the Application. */}}
{{- define "application-sets.sources" -}}
{{- $main := include "application-sets.source" . | fromYaml -}}
{{- $more := concat (include "application-sets.companions" . | fromYamlArray) (.entry.additionalSources | default list) -}}
{{- if and (not .plugin) (ne (.entry.kind | default "chart") "manifests") -}}
  {{- with .root.Values.hierarchy.repoURL -}}
    {{- $more = append $more (dict "repoURL" . "targetRevision" $.root.Values.hierarchy.revision "ref" "values") -}}
  {{- end -}}
{{- end -}}
{{- if $more -}}
{{- dict "sources" (prepend $more $main) | toYaml -}}
{{- else -}}
{{- dict "source" $main | toYaml -}}
{{- end -}}
{{- end }}

{{/*
application-sets.applicationName: without the plugin, the name the plugin would give (N1):
<component>-<cluster>, cut with a hash of the full name beyond 63 characters.
*/}}
{{- define "application-sets.applicationName" -}}
{{- if .plugin -}}
{{ "{{ .applicationName }}" }}
{{- else -}}
{{ printf `{{ $n := printf "%s-%%s" .nameNormalized }}{{ if gt (len $n) 63 }}{{ regexReplaceAll "-+$" ($n | trunc 54) "" }}-{{ sha256sum $n | trunc 8 }}{{ else }}{{ $n }}{{ end }}` .component }}
{{- end -}}
{{- end }}
