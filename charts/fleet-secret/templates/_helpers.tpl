{{/* Booleans of the values may be written as the strings "true" and "false": "true" or nothing. */}}
{{- define "fleet-secret.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end -}}

{{/* Text that External Secrets' template engine prints as it is. */}}
{{- define "fleet-secret.literal" -}}
{{- toString . | replace "{{" "{{ \"{{\" }}" -}}
{{- end -}}

{{/* External Secrets' template for one key of the secret; an absent or empty one is an error that names it. */}}
{{- define "fleet-secret.fromSecret" -}}
{{- printf "{{ with index . %q }}{{ .%s }}{{ else }}{{ fail %q }}{{ end }}" .key (default false .base64 | ternary " | b64dec" "") (printf "the secret has no key %s" .key) -}}
{{- end -}}

{{/* External Secrets' template that fails if the secret is another cluster's, and prints nothing. */}}
{{- define "fleet-secret.verifyClusterName" -}}
{{- printf "{{ if and (index . \"cluster_name\") (ne (index . \"cluster_name\") %q) }}{{ fail (printf \"the secret is that of cluster %%q, not of %%q\" (index . \"cluster_name\") %q) }}{{ end }}" . . -}}
{{- end -}}

{{/* Whether any object reads the secret store. */}}
{{- define "fleet-secret.usesStore" -}}
{{- $push := include "fleet-secret.bool" .Values.push.enabled -}}
{{- $uses := or (include "fleet-secret.bool" .Values.externalSecret.enabled) (ne (include "fleet-secret.kubeconfigNamespaces" .) "[]") -}}
{{- if and (include "fleet-secret.isProvisioned" .) (not .Values.kubeconfig.secretName) }}{{ $uses = false }}{{ end -}}
{{- range include "fleet-secret.gitCredentials" . | fromJson -}}
{{- if or $push (include "fleet-secret.bool" .local) }}{{ $uses = true }}{{ end -}}
{{- end -}}
{{- if include "fleet-secret.bool" .Values.sealedSecrets.enabled }}{{ $uses = true }}{{ end -}}
{{- if $uses }}true{{ end -}}
{{- end -}}

{{- define "fleet-secret.labels" -}}
{{- $labels := dict
      "app.kubernetes.io/name" "fleet-secret"
      "app.kubernetes.io/instance" (.Release.Name | trunc 63 | trimSuffix "-")
      "app.kubernetes.io/managed-by" .Release.Service
      "app.kubernetes.io/part-of" "argosy"
      "helm.sh/chart" (printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_"))
      "argosy.dev/cluster" .Values.clusterName -}}
{{- toYaml (merge $labels .Values.commonLabels) -}}
{{- end -}}

{{- define "fleet-secret.metadata" -}}
labels:
  {{- include "fleet-secret.labels" . | nindent 2 }}
{{- with .Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "fleet-secret.storeName" -}}
{{- .Values.secretStore.name | default .Values.clusterName -}}
{{- end -}}

{{- define "fleet-secret.storeRef" -}}
kind: {{ .Values.secretStore.kind | quote }}
name: {{ include "fleet-secret.storeName" . | quote }}
{{- end -}}

{{/* A reference to a whole secret. The defaults are written out: Argo CD compares lists as a whole, and
would find a difference to what the API server fills in. */}}
{{- define "fleet-secret.remoteRef" -}}
key: {{ . | quote }}
conversionStrategy: Default
decodingStrategy: None
metadataPolicy: None
{{- end -}}

{{/* Region of the store: as given, else that of the secret's ARN. */}}
{{- define "fleet-secret.region" -}}
{{- $region := .Values.secretStore.aws.region -}}
{{- if and (not $region) (hasPrefix "arn:" .Values.secretManagerSecretName) -}}
{{- $parts := splitList ":" .Values.secretManagerSecretName -}}
{{- if gt (len $parts) 3 }}{{ $region = index $parts 3 }}{{ end -}}
{{- end -}}
{{- $region -}}
{{- end -}}

{{- define "fleet-secret.serviceAccountRef" -}}
{{- with .Values.serviceAccount.name }}
auth:
  jwt:
    serviceAccountRef:
      name: {{ . | quote }}
      {{- if $.namespaced }}
      namespace: {{ $.Release.Namespace | quote }}
      {{- end }}
{{- end }}
{{- end -}}

{{/* Whether credentials are for Argo CD on this cluster, as they are unless they say otherwise: "true" or "false", as
`merge` takes a false for a value that is missing. */}}
{{- define "fleet-secret.local" -}}
{{- include "fleet-secret.bool" (hasKey . "local" | ternary .local true) | default "false" -}}
{{- end -}}

{{/* All Git credentials by name, as JSON: those of the flag githubSecret and those of gitCredentials. */}}
{{- define "fleet-secret.gitCredentials" -}}
{{- $all := dict -}}
{{- $defaults := dict "kind" "repo-creds" "url" "" "properties" dict "base64" list "plain" false "data" dict -}}
{{- range $name, $entry := .Values.gitCredentials -}}
{{- if and $entry (include "fleet-secret.bool" (hasKey $entry "enabled" | ternary $entry.enabled true)) -}}
{{- $_ := set $all $name (merge (dict "local" (include "fleet-secret.local" $entry)) $entry $defaults) -}}
{{- end -}}
{{- end -}}
{{- if include "fleet-secret.bool" .Values.githubSecret -}}
{{- if hasKey $all "github" -}}
{{- fail "gitCredentials.github: githubSecret brings credentials of this name already; name it otherwise, or set githubSecret: false" -}}
{{- end -}}
{{- $_ := set $all "github" (merge (dict "secretName" .Values.githubSecretName "local" (include "fleet-secret.local" .Values.github)) .Values.github $defaults) -}}
{{- end -}}
{{- range $name, $entry := $all -}}
{{- if and (eq $entry.kind "repo-creds") (get $entry.data "project") -}}
{{- fail (printf "Git credentials %q: data.project has no effect with kind repo-creds: Argo CD gives these to the Applications of every project; set kind: repository, with the URL of one repository, or remove project" $name) -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Name of the objects of one registry: by its endpoint, never by its place in the list. */}}
{{- define "fleet-secret.ecrName" -}}
{{- printf "%s-ecr-%s" .cluster (regexReplaceAll "[^a-z0-9]+" (lower .endpoint) "-" | trimAll "-") | trunc 253 | trimSuffix "-" -}}
{{- end -}}

{{/* Everything about the values that a schema cannot say, or not say well. */}}
{{- define "fleet-secret.validate" -}}
{{- $v := .Values -}}
{{- if not $v.clusterName -}}
{{- fail "clusterName is required: the name of the member, as in its file below fleet/fleet-members" -}}
{{- end -}}
{{- if not (and (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" $v.clusterName) (le (len $v.clusterName) 63)) -}}
{{- fail (printf "clusterName: %q is not a DNS-1123 label (lower-case letters, digits and '-', at most 63 characters)" $v.clusterName) -}}
{{- end -}}
{{- range $name := list $v.clusterName $v.externalSecret.secretName -}}
{{- if has $name (list "argocd-secret" "argocd-initial-admin-secret" "argocd-notifications-secret" "argocd-redis" "argocd-repo-server-tls" "argocd-server-tls" "generator-plugin-token" "hub-cluster") -}}
{{- fail (printf "%q is the name of a Secret of Argo CD or of this service: the cluster's Secret would replace it" $name) -}}
{{- end -}}
{{- end -}}
{{- $creates := include "fleet-secret.bool" $v.externalSecret.enabled -}}
{{- if and $creates (not $v.secretManagerSecretName) (not (include "fleet-secret.isProvisioned" .)) -}}
{{- fail (printf "secretManagerSecretName is required: the secret that holds the credentials of %q (externalSecret.enabled: false for a cluster whose Secret something else writes)" $v.clusterName) -}}
{{- end -}}
{{- if and (include "fleet-secret.isProvisioned" .) $v.secretManagerSecretName -}}
{{- fail "externalSecret.source: connectionSecret contradicts secretManagerSecretName: the connection comes from one of them" -}}
{{- end -}}
{{- if and (include "fleet-secret.isProvisioned" .) (ne $v.connectionSecret.key "value") (eq (include "fleet-secret.kubeconfigName" .) (include "fleet-secret.connectionName" .)) -}}
{{- fail (printf "connectionSecret.key: %q: a kubeconfig of the same name is read by the key value; set kubeconfig.name" $v.connectionSecret.key) -}}
{{- end -}}
{{- $push := include "fleet-secret.bool" $v.push.enabled -}}
{{- if and (ne (include "fleet-secret.kubeconfigNamespaces" .) "[]") (not (include "fleet-secret.kubeconfigSource" .)) (not (include "fleet-secret.isProvisioned" .)) -}}
{{- fail (printf "secretManagerSecretName is required: the secret that the kubeconfig of %q is made of (or kubeconfig.secretName%s)" $v.clusterName (eq $push "true" | ternary ", or push.provider" "")) -}}
{{- end -}}
{{- if and $v.push.provider (not (and (hasKey $v.push.provider "kubernetes") (eq (len $v.push.provider) 1))) -}}
{{- fail (printf "push.provider: %s: only the provider kubernetes writes into a cluster" (keys $v.push.provider | sortAlpha | join ", ")) -}}
{{- end -}}
{{- if include "fleet-secret.bool" $v.sealedSecrets.enabled -}}
{{- if not $v.sealedSecrets.secretName -}}
{{- fail "sealedSecrets.secretName is required with sealedSecrets.enabled: true: the secret with the key pair" -}}
{{- end -}}
{{- if and (not $creates) (eq $v.secretStore.kind "SecretStore") (not (include "fleet-secret.bool" $v.secretStore.create)) -}}
{{- fail (printf "sealedSecrets: the store %q is one of its own namespace; expected secretStore.kind: ClusterSecretStore, or secretStore.create: true" $v.secretStore.name) -}}
{{- end -}}
{{- end -}}
{{- if and (include "fleet-secret.bool" $v.push.token.enabled) (not $push) -}}
{{- fail "push.token.enabled has no effect with push.enabled: false" -}}
{{- end -}}
{{- range $key, $value := $v.externalSecret.labels -}}
{{- $text := toString $value -}}
{{- if kindIs "invalid" $value -}}
{{- else if not (regexMatch "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$" $key) -}}
{{- fail (printf "externalSecret.labels: %q is not a valid label name" $key) -}}
{{- else if not (and (le (len $text) 63) (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$" $text)) -}}
{{- fail (printf "externalSecret.labels.%s: %q is not a valid label value (at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit)" $key $text) -}}
{{- else if and (has $key (list "tenant" "environment" "fleet_member")) (not $text) -}}
{{- fail (printf "externalSecret.labels.%s must not be empty: it says where the cluster stands in the hierarchy" $key) -}}
{{- else if and (eq $key "argocd.argoproj.io/secret-type") (ne $text "cluster") -}}
{{- fail (printf "externalSecret.labels.%s: %q is reserved: the Secret of a cluster carries \"cluster\"" $key $text) -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := $v.externalSecret.annotations -}}
{{- if kindIs "invalid" $value -}}
{{- else if not (regexMatch "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$" $key) -}}
{{- fail (printf "externalSecret.annotations: %q is not a valid annotation name" $key) -}}
{{- else if eq (toString $value) "<no value>" -}}
{{- fail (printf "externalSecret.annotations.%s: \"<no value>\" is what a template prints for an absent key" $key) -}}
{{- else if and (eq $key "cluster_name") (ne (toString $value) $v.clusterName) -}}
{{- fail (printf "externalSecret.annotations.cluster_name: %q contradicts clusterName: %q" (toString $value) $v.clusterName) -}}
{{- end -}}
{{- end -}}
{{- if and (include "fleet-secret.bool" $v.externalSecret.clusterResources) (not $v.externalSecret.namespaces) -}}
{{- fail "externalSecret.clusterResources has a meaning with externalSecret.namespaces only" -}}
{{- end -}}
{{- if and (eq $v.externalSecret.deletionPolicy "Delete") (eq $v.externalSecret.creationPolicy "Merge") -}}
{{- fail "externalSecret.deletionPolicy: Delete contradicts creationPolicy: Merge: External Secrets does not own that Secret" -}}
{{- end -}}
{{- $store := $v.secretStore -}}
{{- if not (include "fleet-secret.bool" $store.create) -}}
{{- if and (include "fleet-secret.usesStore" .) (not $store.name) -}}
{{- fail "secretStore.name is required with secretStore.create: false: the existing store to use" -}}
{{- end -}}
{{- range $key := list "provider" "conditions" "retrySettings" -}}
{{- if index $store $key -}}
{{- fail (printf "secretStore.%s has no effect with secretStore.create: false" $key) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- if gt (len $store.provider) 1 -}}
{{- fail (printf "secretStore.provider: one provider, found %d: %s" (len $store.provider) (keys $store.provider | sortAlpha | join ", ")) -}}
{{- end -}}
{{- if and $store.conditions (ne $store.kind "ClusterSecretStore") -}}
{{- fail "secretStore.conditions needs secretStore.kind: ClusterSecretStore" -}}
{{- end -}}
{{- if $store.provider -}}
{{- range $key := list "region" "role" "additionalRoles" "externalID" -}}
{{- if index $store.aws $key -}}
{{- fail (printf "secretStore.aws.%s has no effect beside secretStore.provider: write it into provider.aws" $key) -}}
{{- end -}}
{{- end -}}
{{- else if and (include "fleet-secret.usesStore" .) (not (include "fleet-secret.region" .)) -}}
{{- fail "secretStore.aws.region is required: secretManagerSecretName is not an ARN that names it" -}}
{{- end -}}
{{- end -}}
{{- if and (include "fleet-secret.bool" $v.serviceAccount.create) (not $v.serviceAccount.name) -}}
{{- fail "serviceAccount.name is required with serviceAccount.create: true" -}}
{{- end -}}
{{- if and (include "fleet-secret.bool" $v.githubSecret) (not $v.githubSecretName) -}}
{{- fail "githubSecretName is required with githubSecret: true: the secret with the Git credentials" -}}
{{- end -}}
{{- range $name, $entry := include "fleet-secret.gitCredentials" . | fromJson -}}
{{- $at := eq $name "github" | ternary "github" (printf "gitCredentials.%s" $name) -}}
{{- if not $entry.secretName -}}
{{- fail (printf "%s.secretName is required: the secret with the credentials" $at) -}}
{{- end -}}
{{- if not $entry.type -}}
{{- fail (printf "%s.type is required: one of githubApp, http, ssh" $at) -}}
{{- end -}}
{{- $known := include "fleet-secret.gitFields" $entry.type | fromJsonArray -}}
{{- range $field, $_ := $entry.properties -}}
{{- if not (has $field (append $known "url")) -}}
{{- fail (printf "%s.properties.%s: credentials of type %s have the fields %s, url" $at $field $entry.type (join ", " $known)) -}}
{{- end -}}
{{- end -}}
{{- range $field := $entry.base64 -}}
{{- if not (has $field $known) -}}
{{- fail (printf "%s.base64: %q: credentials of type %s have the fields %s" $at $field $entry.type (join ", " $known)) -}}
{{- end -}}
{{- end -}}
{{- range $field, $_ := $entry.data -}}
{{- if has $field (list "password" "sshPrivateKey" "githubAppPrivateKey" "bearerToken") -}}
{{- fail (printf "%s.data.%s: credentials belong into the secret store, not into values" $at $field) -}}
{{- end -}}
{{- if has $field (list "type" "url") -}}
{{- fail (printf "%s.data.%s: set %s.%s instead" $at $field $at $field) -}}
{{- end -}}
{{- end -}}
{{- if include "fleet-secret.bool" $entry.plain -}}
{{- if eq $entry.type "githubApp" -}}
{{- fail (printf "%s.plain: a GitHub App has three fields; its secret has to be JSON" $at) -}}
{{- end -}}
{{- if not $entry.url -}}
{{- fail (printf "%s.url is required with plain: true" $at) -}}
{{- end -}}
{{- if $entry.properties -}}
{{- fail (printf "%s.properties has no effect with plain: true" $at) -}}
{{- end -}}
{{- end -}}
{{- if and (eq $entry.type "ssh") (hasPrefix "http" $entry.url) -}}
{{- fail (printf "%s.url: %q is no SSH address, as type: ssh needs" $at $entry.url) -}}
{{- end -}}
{{- if and (ne $entry.type "ssh") $entry.url (not (hasPrefix "http" $entry.url)) -}}
{{- fail (printf "%s.url: %q is no http(s) address, as type: %s needs" $at $entry.url $entry.type) -}}
{{- end -}}
{{- end -}}
{{- $seen := dict -}}
{{- range $i, $registry := $v.ecr.registries -}}
{{- $name := include "fleet-secret.ecrName" (dict "cluster" $v.clusterName "endpoint" $registry.endpoint) -}}
{{- if hasKey $seen $name -}}
{{- fail (printf "ecr.registries: %q and %q give objects of one name, %q" (get $seen $name) $registry.endpoint $name) -}}
{{- end -}}
{{- $_ := set $seen $name $registry.endpoint -}}
{{- end -}}
{{- end -}}
