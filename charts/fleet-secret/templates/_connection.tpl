{{/* Whether the connection is that of a cluster that this one has provisioned: "true" or nothing. */}}
{{- define "fleet-secret.isProvisioned" -}}
{{- if eq .Values.externalSecret.source "connectionSecret" }}true{{ end -}}
{{- end -}}

{{- define "fleet-secret.connectionName" -}}
{{- .Values.connectionSecret.name | default (printf "%s-kubeconfig" .Values.clusterName) -}}
{{- end -}}

{{- define "fleet-secret.connectionNamespace" -}}
{{- .Values.connectionSecret.namespace | default .Release.Namespace -}}
{{- end -}}

{{/* The objects that read it. A name with a dot is no member's. */}}
{{- define "fleet-secret.connectionStore" -}}
{{- .Values.clusterName }}.connection
{{- end -}}

{{/* The namespaces in which the connection is read, as JSON: a SecretStore serves its own namespace alone. */}}
{{- define "fleet-secret.connectionReaders" -}}
{{- $all := list -}}
{{- if include "fleet-secret.isProvisioned" . -}}
{{- if include "fleet-secret.bool" .Values.externalSecret.enabled }}{{ $all = append $all .Release.Namespace }}{{ end -}}
{{- if not .Values.kubeconfig.secretName -}}
{{- $all = concat $all (include "fleet-secret.kubeconfigNamespaces" . | fromJsonArray) -}}
{{- end -}}
{{- end -}}
{{- uniq $all | toJson -}}
{{- end -}}

{{/* What an ExternalSecret reads to reach the cluster: the record `secret`, or the provisioned connection for none. */}}
{{- define "fleet-secret.readsConnection" -}}
{{- if .secret -}}
secretStoreRef:
  {{- include "fleet-secret.storeRef" .context | nindent 2 }}
dataFrom:
  # the whole JSON object: a key that Terraform did not write is then absent instead of an error
  - extract:
      {{- include "fleet-secret.remoteRef" .secret | nindent 6 }}
{{- else -}}
secretStoreRef:
  kind: SecretStore
  name: {{ include "fleet-secret.connectionStore" .context | quote }}
data:
  - secretKey: kubeconfig
    remoteRef:
      {{- include "fleet-secret.remoteRef" (include "fleet-secret.connectionName" .context) | nindent 6 }}
      property: {{ .context.Values.connectionSecret.key | quote }}
{{- end -}}
{{- end -}}

{{/* A regular expression for the addresses of API servers in the domains of externalSecret.loginDomains. */}}
{{- define "fleet-secret.loginDomains" -}}
{{- $domains := list -}}
{{- range .Values.externalSecret.loginDomains -}}
{{- $domains = append $domains (. | replace "." "[.]" | replace "*" "[A-Za-z0-9-]+") -}}
{{- end -}}
{{- if has "*" .Values.externalSecret.loginDomains -}}
^https://
{{- else if $domains -}}
(?i)^https://([A-Za-z0-9-]+[.])*({{ join "|" $domains }})(:[0-9]+)?/?$
{{- else -}}
^$
{{- end -}}
{{- end -}}
