{{/* Names with a dot are no member's: a cluster's name has none, so that the objects of `a` are never those of `a-push`. */}}
{{- define "fleet-secret.pushStore" -}}
{{- .Values.clusterName }}.push
{{- end -}}

{{/* Whether anything is pushed: without, there is no need to reach the cluster. */}}
{{- define "fleet-secret.pushes" -}}
{{- if include "fleet-secret.bool" .Values.push.enabled -}}
{{- if or (ne (include "fleet-secret.gitCredentials" .) "{}") .Values.ecr.registries (include "fleet-secret.bool" .Values.push.token.enabled) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* Whether the sealing key goes into another cluster: where this release registers one, from a hub. */}}
{{- define "fleet-secret.pushesSealingKey" -}}
{{- if and (include "fleet-secret.bool" .Values.sealedSecrets.enabled) (include "fleet-secret.bool" .Values.externalSecret.enabled) }}true{{ end -}}
{{- end -}}

{{- define "fleet-secret.kubeconfigName" -}}
{{- .Values.kubeconfig.name | default (printf "%s-kubeconfig" .Values.clusterName) -}}
{{- end -}}

{{/* The secret that the kubeconfig is made of. */}}
{{- define "fleet-secret.kubeconfigSource" -}}
{{- .Values.kubeconfig.secretName | default .Values.secretManagerSecretName -}}
{{- end -}}

{{/* The namespaces that need a kubeconfig, as JSON: the one that is asked for, and this one to push with, as a SecretStore
reads Secrets of its own namespace only. */}}
{{- define "fleet-secret.kubeconfigNamespaces" -}}
{{- $all := list -}}
{{- if include "fleet-secret.bool" .Values.kubeconfig.enabled -}}
{{- $all = append $all (.Values.kubeconfig.namespace | default .Release.Namespace) -}}
{{- end -}}
{{- if and (or (include "fleet-secret.pushes" .) (include "fleet-secret.pushesSealingKey" .)) (not .Values.push.provider) -}}
{{- $all = append $all .Release.Namespace -}}
{{- end -}}
{{- if and (include "fleet-secret.isProvisioned" .) (not .Values.kubeconfig.secretName) (eq (include "fleet-secret.kubeconfigName" .) (include "fleet-secret.connectionName" .)) -}}
{{- $all = without $all (include "fleet-secret.connectionNamespace" .) -}}
{{- end -}}
{{- uniq $all | toJson -}}
{{- end -}}

{{/* The namespaces with something that reads the secret store, as JSON. */}}
{{- define "fleet-secret.storeNamespaces" -}}
{{- $all := concat (list .Release.Namespace) (include "fleet-secret.kubeconfigNamespaces" . | fromJsonArray) -}}
{{- if and (include "fleet-secret.bool" .Values.sealedSecrets.enabled) (not (include "fleet-secret.pushesSealingKey" .)) -}}
{{- $all = append $all .Values.sealedSecrets.namespace -}}
{{- end -}}
{{- uniq $all | toJson -}}
{{- end -}}

{{/* Reaches a namespace of the cluster itself: a write here is a write there. {context, name, namespace} */}}
{{- define "fleet-secret.remoteStore" -}}
{{- $v := .context.Values -}}
apiVersion: external-secrets.io/v1
kind: SecretStore
metadata:
  name: {{ .name | quote }}
  namespace: {{ .context.Release.Namespace | quote }}
  {{- include "fleet-secret.metadata" .context | nindent 2 }}
spec:
  {{- with $v.secretStore.controller }}
  controller: {{ . | quote }}
  {{- end }}
  provider:
    kubernetes:
      remoteNamespace: {{ .namespace | quote }}
      {{- if $v.push.provider }}
      {{- omit $v.push.provider.kubernetes "remoteNamespace" | toYaml | nindent 6 }}
      {{- else }}
      authRef:
        name: {{ include "fleet-secret.kubeconfigName" .context | quote }}
        key: value
      {{- end }}
{{- end -}}

{{/* Writes a Secret into the cluster: `name` of the object and of the Secret here, `remote` name there, with `labels` and
no others, by `store` or the one of the engine's namespace. Nothing is ever deleted there. */}}
{{- define "fleet-secret.pushSecret" -}}
apiVersion: external-secrets.io/v1alpha1
kind: PushSecret
metadata:
  name: {{ .name | quote }}
  namespace: {{ .context.Release.Namespace | quote }}
  {{- include "fleet-secret.metadata" .context | nindent 2 }}
spec:
  refreshInterval: {{ .context.Values.push.refreshInterval | quote }}
  updatePolicy: Replace
  deletionPolicy: None
  secretStoreRefs:
    - kind: SecretStore
      name: {{ .store | default (include "fleet-secret.pushStore" .context) | quote }}
  selector:
    secret:
      name: {{ .name | quote }}
  data:
    # without secretKey and property: the whole Secret
    - conversionStrategy: None
      match:
        remoteRef:
          remoteKey: {{ .remote | quote }}
      metadata:
        apiVersion: kubernetes.external-secrets.io/v1alpha1
        kind: PushSecretMetadata
        spec:
          # these labels, none of the Secret here
          sourceMergePolicy: Replace
          targetMergePolicy: Merge
          labels:
            {{- toYaml .labels | nindent 12 }}
{{- end -}}
