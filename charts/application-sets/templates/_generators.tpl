{{/*
application-sets.base: what the plugin starts from, as the catalog has it. The strings are
templates for the plugin; a top-level plugin generator passes its parameters on as written.
`enabled` stays out: it means that some cluster of this release has the component, and would
switch it on for all the others.
*/}}
{{- define "application-sets.base" -}}
{{- $chart := pick .entry.chart "repoURL" "name" "version" "path" -}}
{{- $_ := set $chart "repoURL" (trimPrefix "oci://" $chart.repoURL) -}}
{{- $base := dict "chart" $chart "selector" (.entry.selector | default dict) -}}
{{- range $key := list "kind" "namespace" "dependsOn" "substitute" "companions" -}}
  {{- with get $.entry $key }}{{ $_ := set $base $key . }}{{ end -}}
{{- end -}}
{{- if ne (.entry.kind | default "chart") "manifests" -}}
  {{- $_ := set $base "releaseName" (.entry.releaseName | default .component) -}}
  {{- $_ := set $base "values" (.entry.values | default dict) -}}
{{- end -}}
{{- toYaml $base -}}
{{- end }}

{{/* application-sets.pluginGenerators: one call a component. */}}
{{- define "application-sets.pluginGenerators" -}}
{{- $values := .root.Values -}}
- plugin:
    configMapRef:
      name: {{ $values.plugin.configMapName | quote }}
    {{- if not (kindIs "invalid" .entry.requeueAfterSeconds) }}
    requeueAfterSeconds: {{ .entry.requeueAfterSeconds | int64 }}
    {{- end }}
    input:
      parameters:
        view: components
        {{- with $values.hub }}
        hub: {{ . | quote }}
        {{- end }}
        owner: {{ $values.owner | quote }}
        group: {{ $values.group | quote }}
        release: {{ $values.release | quote }}
        component: {{ .component | quote }}
        {{- with $values.selector }}
        selector:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        base:
          {{- include "application-sets.base" . | nindent 10 }}
{{- end }}

{{/*
application-sets.clusterGenerators: who gets the component, without the plugin. A cluster
selector has no "or", so the cases are generators of their own, and disjoint: two that
match one cluster would give two Applications of one name.
  release: its label, or for `default` also no label (R2)
  engine:  the hub owns what is not an agent's, the member what is (M1)
*/}}
{{- define "application-sets.clusterGenerators" -}}
{{- $values := .root.Values -}}
{{- $label := printf "%sRelease" $values.group -}}
{{- $releases := list (dict "key" $label "operator" "In" "values" (list $values.release)) -}}
{{- if eq $values.release "default" -}}
  {{- $releases = append $releases (dict "key" $label "operator" "DoesNotExist") -}}
{{- end -}}
{{- $agent := dict "key" "use_remote_argo" "operator" "In" "values" (list "true") -}}
{{- $central := dict "key" "use_remote_argo" "operator" "NotIn" "values" (list "true") -}}
{{- $remote := printf "enable_remote_%s" $values.group -}}
{{- $engines := list (list $central) (list $agent (dict "key" $remote "operator" "NotIn" "values" (list "true"))) -}}
{{- if ne $values.owner "hub" -}}
  {{- $engines = list (list $agent (dict "key" $remote "operator" "In" "values" (list "true"))) -}}
{{- end -}}
{{- $own := .entry.selector | default dict -}}
{{- $all := $values.selector | default dict -}}
{{- /* null takes a label of the demands, as it does for the plugin */ -}}
{{- $labels := dict -}}
{{- range $from := list ($own.matchLabels | default dict) ($all.matchLabels | default dict) -}}
  {{- range $key, $value := $from }}{{ if not (kindIs "invalid" $value) }}{{ $_ := set $labels $key $value }}{{ end }}{{ end -}}
{{- end -}}
{{- $named := list (dict "key" "tenant" "operator" "Exists") (dict "key" "environment" "operator" "Exists") -}}
{{- $out := list -}}
{{- range $release := $releases -}}
  {{- range $engine := $engines -}}
    {{- $expressions := concat ($own.matchExpressions | default list) ($all.matchExpressions | default list) (list $release) $engine $named -}}
    {{- $selector := dict "matchExpressions" $expressions -}}
    {{- with $labels -}}
      {{- $_ := set $selector "matchLabels" . -}}
    {{- end -}}
    {{- $out = append $out (dict "clusters" (dict "selector" $selector)) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end }}

{{/* application-sets.levelFile: {root, component, level, file} -> path of a level's file, over the cluster generator's parameters. */}}
{{- define "application-sets.levelFile" -}}
{{- $values := .root.Values -}}
{{- $folder := $values.hierarchy.root | default (ternary "resources" "addons" (eq $values.group "resources")) -}}
{{- $path := printf "%s/%s" .level (.file | default $values.hierarchy.file) -}}
{{- $path = regexReplaceAll "{{\\s*\\.root\\s*}}" $path $folder -}}
{{- $path = regexReplaceAll "{{\\s*\\.hub\\s*}}" $path $values.hub -}}
{{- $path = regexReplaceAll "{{\\s*\\.group\\s*}}" $path $values.group -}}
{{- $path = regexReplaceAll "{{\\s*\\.component\\s*}}" $path .component -}}
{{- $path = regexReplaceAll "{{\\s*\\.cluster\\s*}}" $path "{{ .name }}" -}}
{{- $path = regexReplaceAll "{{\\s*\\.(tenant|environment)\\s*}}" $path "{{ .metadata.labels.$1 }}" -}}
{{- $path = regexReplaceAll "{{\\s*\\.labels\\." $path "{{ .metadata.labels." -}}
{{- $path -}}
{{- end }}

{{/*
application-sets.valueFiles: the hierarchy as value files. Hubs have levels of their own; the
shorter of the two lists is filled up in front with its first level, which changes nothing.
*/}}
{{- define "application-sets.valueFiles" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $file := .file -}}
{{- $hierarchy := .root.Values.hierarchy -}}
{{- $member := $hierarchy.levels -}}
{{- $hub := $hierarchy.hubLevels -}}
{{- range until (int (max 0 (sub (len $hub) (len $member)))) }}{{ $member = prepend $member (first $member) }}{{ end -}}
{{- range until (int (max 0 (sub (len $member) (len $hub)))) }}{{ $hub = prepend $hub (first $hub) }}{{ end -}}
{{- $files := list -}}
{{- range $i, $level := $member -}}
  {{- $m := include "application-sets.levelFile" (dict "root" $root "component" $component "level" $level "file" $file) -}}
  {{- $h := include "application-sets.levelFile" (dict "root" $root "component" $component "level" (index $hub $i) "file" $file) -}}
  {{- if eq $m $h -}}
    {{- $files = append $files (printf "$values/%s" $m) -}}
  {{- else -}}
    {{- $files = append $files (printf "$values/{{ if eq (index .metadata.labels \"fleet_member\") \"hub-cluster\" }}%s{{ else }}%s{{ end }}" $h $m) -}}
  {{- end -}}
{{- end -}}
{{- toYaml $files -}}
{{- end }}

{{/*
application-sets.localValues: {root, component, value} -> the catalog's values. Each
template defines the plugin's names of facts; the cluster generator has others.
*/}}
{{- define "application-sets.localValues" -}}
{{- $ctx := . -}}
{{- $v := .value -}}
{{- if kindIs "map" $v -}}
  {{- $out := dict -}}
  {{- range $k, $x := $v -}}
    {{- $_ := set $out $k (get (include "application-sets.localValues" (dict "value" $x "root" $ctx.root "component" $ctx.component) | fromYaml) "v") -}}
  {{- end -}}
  {{- dict "v" $out | toYaml -}}
{{- else if kindIs "slice" $v -}}
  {{- $out := list -}}
  {{- range $x := $v -}}
    {{- $out = append $out (get (include "application-sets.localValues" (dict "value" $x "root" $ctx.root "component" $ctx.component) | fromYaml) "v") -}}
  {{- end -}}
  {{- dict "v" $out | toYaml -}}
{{- else if and (kindIs "string" $v) (contains "{{" $v) -}}
  {{- $facts := printf "{{ $_ := set . \"labels\" .metadata.labels }}{{ $_ = set . \"annotations\" (index .metadata \"annotations\" | default dict) }}{{ $_ = set . \"cluster\" .name }}{{ $_ = set . \"tenant\" .metadata.labels.tenant }}{{ $_ = set . \"environment\" .metadata.labels.environment }}{{ $_ = set . \"hub\" %q }}{{ $_ = set . \"group\" %q }}{{ $_ = set . \"component\" %q }}" .root.Values.hub .root.Values.group .component -}}
  {{- dict "v" (printf "%s%s" $facts $v) | toYaml -}}
{{- else -}}
  {{- dict "v" $v | toYaml -}}
{{- end -}}
{{- end }}
