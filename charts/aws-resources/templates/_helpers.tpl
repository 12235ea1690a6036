{{/* aws-resources.metadata: {root, name, namespace, annotations} -> metadata of an object. */}}
{{- define "aws-resources.metadata" -}}
{{- $root := .root -}}
name: {{ .name | quote }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
labels:
  {{- merge (dict
        "app.kubernetes.io/name" "aws-resources"
        "app.kubernetes.io/instance" ($root.Release.Name | trunc 63 | trimSuffix "-")
        "app.kubernetes.io/managed-by" $root.Release.Service
        "app.kubernetes.io/part-of" "argosy"
        "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_"))
      ) $root.Values.commonLabels | toYaml | nindent 2 }}
annotations:
  {{- merge .annotations $root.Values.commonAnnotations | toYaml | nindent 2 }}
{{- end -}}
