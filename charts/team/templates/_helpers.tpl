{{/* team.labels: the labels of every object. */}}
{{- define "team.labels" -}}
{{- $own := dict "app.kubernetes.io/name" "team" "app.kubernetes.io/instance" .Release.Name "app.kubernetes.io/managed-by" .Release.Service "argosy.dev/team" .Values.team.name "argosy.dev/tenant" .Values.team.tenant -}}
{{- merge $own (.Values.commonLabels | default dict) | toYaml -}}
{{- end }}

{{/* team.bool: "true" or nothing, of a boolean or its text. */}}
{{- define "team.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end }}

{{/* team.named: the team's namespaces that have a name, each with its preset, as JSON. */}}
{{- define "team.named" -}}
{{- $out := list -}}
{{- range .Values.team.namespaces -}}
  {{- if .name -}}
    {{- $preset := get ($.Values.presets | default dict) .preset -}}
    {{- if not $preset -}}
      {{- fail (printf "namespace %q of team %q: no preset %q; expected one of %s" .name $.Values.team.name .preset (keys ($.Values.presets | default dict) | sortAlpha | join ", ")) -}}
    {{- end -}}
    {{- $out = append $out (dict "name" .name "presetName" .preset "preset" $preset) -}}
  {{- end -}}
{{- end -}}
{{- toJson $out -}}
{{- end }}

{{/* What a pattern of Argo CD's projects denies, as an expression: `*` is any text, `?` a character. */}}
{{- define "team.denies" }}
{{- if eq .pattern "*" }}true
{{- else if regexMatch "[*?]" .pattern }}
{{- printf "%s.matches(%s)" .of (printf "^%s$" (.pattern | replace "." "[.]" | replace "*" ".*" | replace "?" ".") | toJson) }}
{{- else }}
{{- printf "%s == %s" .of (toJson .pattern) }}
{{- end }}
{{- end }}
