{{/* member-access.checked: fails where something is missing; prints the side. */}}
{{- define "member-access.checked" -}}
{{- $hub := .Values.hub -}}
{{- if not .Values.side }}{{ fail "side is required: member, where the rights are, or hub, where the kubeconfig is" }}{{ end -}}
{{- if eq .Values.side "member" -}}
{{- if ne .Values.namespace .Release.Namespace }}{{ fail (printf "namespace: %q; expected that of the release, %q: the hub asks for tokens there" .Values.namespace .Release.Namespace) }}{{ end -}}
{{- range $name, $rights := .Values.namespaces -}}
{{- if and $rights (eq $name $.Values.namespace) }}{{ fail (printf "namespaces.%s: is the ServiceAccount's own; expected another: rights there are rights to every token in it" $name) }}{{ end -}}
{{- if and $rights (eq (toString $rights.clusterRole) "cluster-admin") }}{{ fail (printf "namespaces.%s.clusterRole: cluster-admin is not least rights; expected edit, admin, or rules" $name) }}{{ end -}}
{{- end -}}
{{- else -}}
{{- range $key := list "cluster" "server" "caData" -}}
{{- if not (get $hub $key) }}{{ fail (printf "hub.%s is required on the hub" $key) }}{{ end -}}
{{- end -}}
{{- if gt (mul (int $hub.refreshMinutes) 120) (int $hub.expirationSeconds) }}{{ fail (printf "hub.refreshMinutes: %d; expected at most half of a token's life, %d seconds: one attempt may fail" (int $hub.refreshMinutes) (int $hub.expirationSeconds)) }}{{ end -}}
{{- end -}}
{{- .Values.side -}}
{{- end -}}

{{- define "member-access.secretName" -}}
{{- .Values.hub.secretName | default (printf "%s-access" .Values.hub.cluster) -}}
{{- end -}}

{{/* member-access.metadata: {root, name, namespace} -> metadata of an object. */}}
{{- define "member-access.metadata" -}}
{{- $root := .root -}}
name: {{ .name | quote }}
namespace: {{ .namespace | quote }}
labels:
  {{- merge (dict
        "app.kubernetes.io/name" "member-access"
        "app.kubernetes.io/instance" ($root.Release.Name | trunc 63 | trimSuffix "-")
        "app.kubernetes.io/managed-by" $root.Release.Service
        "app.kubernetes.io/part-of" "argosy"
        "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_"))
      ) $root.Values.commonLabels | toYaml | nindent 2 }}
{{- with $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* member-access.subject: the ServiceAccount, as bindings name it. */}}
{{- define "member-access.subject" -}}
subjects:
  - kind: ServiceAccount
    name: {{ .Values.name | quote }}
    namespace: {{ .Values.namespace | quote }}
{{- end -}}
