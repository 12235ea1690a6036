{{/* Labels of all objects. */}}
{{- define "stand-in.labels" -}}
{{ include "stand-in.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") | trunc 63 }}
{{- end -}}

{{- define "stand-in.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The values as they were given: Helm may add an empty `global`, which says nothing. */}}
{{- define "stand-in.values" -}}
{{- $values := .Values -}}
{{- if not $values.global }}{{ $values = omit $values "global" }}{{ end -}}
{{- toYaml $values -}}
{{- end -}}

{{/* Charts have different names for the number of their pods: the first that is a number, else 1. */}}
{{- define "stand-in.replicas" -}}
{{- $found := list -}}
{{- $maps := list .Values -}}
{{- with .Values.controller }}{{ if kindIs "map" . }}{{ $maps = append $maps . }}{{ end }}{{ end -}}
{{- range $map := $maps -}}
{{- range $key := list "replicaCount" "replicas" -}}
{{- $value := get $map $key -}}
{{- if or (kindIs "int" $value) (kindIs "int64" $value) (kindIs "float64" $value) }}{{ $found = append $found (int $value) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- append $found 1 | first -}}
{{- end -}}
