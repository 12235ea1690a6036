{{- define "fleet-policies.metadata" -}}
labels:
  app.kubernetes.io/name: fleet-policies
  app.kubernetes.io/instance: {{ .Release.Name }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  app.kubernetes.io/part-of: argosy
  helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
  {{- with .Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The forms of a text inside a base64 text, as JSON: by where it begins, without the characters that depend on what stands
before and behind it. */}}
{{- define "fleet-policies.encoded" -}}
{{- $out := list -}}
{{- range $before := list 0 1 2 -}}
{{- $text := printf "%s%s" (repeat $before "x") $.text -}}
{{- $encoded := b64enc $text | trimSuffix "=" | trimSuffix "=" -}}
{{- $from := index (list 0 2 3) $before -}}
{{- $to := div (mul (len $text) 8) 6 | int -}}
{{- $out = append $out (substr $from $to $encoded) -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/* A CEL expression: the variable `config`, which is base64, holds the text. */}}
{{- define "fleet-policies.holds" -}}
{{- $any := list -}}
{{- range include "fleet-policies.encoded" (dict "text" .) | fromJsonArray -}}
{{- $any = append $any (printf "variables.config.contains('%s')" .) -}}
{{- end -}}
({{ join " || " $any }})
{{- end -}}

{{/* Where and when the policies hold. */}}
{{- define "fleet-policies.binding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  {{- include "fleet-policies.metadata" .context | nindent 2 }}
spec:
  policyName: {{ .name }}
  validationActions: {{ toJson .context.Values.validationActions }}
  matchResources:
    namespaceSelector:
      matchExpressions:
        - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson .context.Values.namespaces }}}
{{- end -}}
