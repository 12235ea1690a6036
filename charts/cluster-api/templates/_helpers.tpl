{{/* cluster-api.metadata: {root, name, annotations} -> metadata of an object. */}}
{{- define "cluster-api.metadata" -}}
{{- $root := .root -}}
name: {{ .name | quote }}
labels:
  {{- merge (dict
        "app.kubernetes.io/name" "cluster-api"
        "app.kubernetes.io/instance" ($root.Release.Name | trunc 63 | trimSuffix "-")
        "app.kubernetes.io/managed-by" $root.Release.Service
        "app.kubernetes.io/part-of" "argosy"
        "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_"))
      ) (.labels | default dict) $root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (.annotations | default dict) $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* cluster-api.checked: fails where something of the part is missing. */}}
{{- define "cluster-api.checked" -}}
{{- $v := .Values -}}
{{- if not $v.part }}{{ fail "part is required: definitions or cluster" }}{{ end -}}
{{- if eq $v.part "definitions" -}}
{{- $template := ternary "machinePool" "machine" (eq $v.workers "machinePools") -}}
{{- if not (get $v.templates $template) }}{{ fail (printf "templates.%s is required for workers %s" $template $v.workers) }}{{ end -}}
{{- end -}}
{{- if eq $v.part "cluster" -}}
{{- range $key, $value := dict "clusterName" $v.clusterName "version" $v.version "region" $v.region }}{{ if not $value }}{{ fail (printf "%s is required for a cluster" $key) }}{{ end }}{{ end -}}
{{- if and $v.nodes.version (ne $v.nodes.version $v.version) }}{{ fail (printf "nodes.version %s: Cluster API has one version for control plane and nodes, %s" $v.nodes.version $v.version) }}{{ end -}}
{{- end -}}
{{- end -}}
