{{/* Fields of Argo CD's Secrets, by type of the credentials. */}}
{{- define "fleet-secret.gitFields" -}}
{{- index (dict "githubApp" (list "githubAppID" "githubAppInstallationID" "githubAppPrivateKey") "http" (list "username" "password") "ssh" (list "sshPrivateKey")) . | toJson -}}
{{- end -}}

{{/* The labels of a Secret with credentials where it is made: `kind` tells Argo CD to use it, and a Secret that is only
there to be pushed does not say it. */}}
{{- define "fleet-secret.credentialLabels" -}}
{{- if .pushed -}}
argosy.dev/cluster: {{ .context.Values.clusterName | quote }}
{{- else -}}
argocd.argoproj.io/secret-type: {{ .kind | quote }}
{{- end -}}
{{- end -}}

{{/* Git credentials as Argo CD reads them: `name` of the object, the `entry`, whether they are to be `pushed`. */}}
{{- define "fleet-secret.gitExternalSecret" -}}
{{- $entry := .entry -}}
{{- $plain := eq (include "fleet-secret.bool" $entry.plain) "true" -}}
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: {{ .name | quote }}
  namespace: {{ .context.Release.Namespace | quote }}
  {{- include "fleet-secret.metadata" .context | nindent 2 }}
spec:
  refreshPolicy: Periodic
  refreshInterval: {{ .context.Values.externalSecret.refreshInterval | quote }}
  secretStoreRef:
    {{- include "fleet-secret.storeRef" .context | nindent 4 }}
  {{- if $plain }}
  data:
    - secretKey: plain
      remoteRef:
        {{- include "fleet-secret.remoteRef" $entry.secretName | nindent 8 }}
  {{- else }}
  dataFrom:
    - extract:
        {{- include "fleet-secret.remoteRef" $entry.secretName | nindent 8 }}
  {{- end }}
  target:
    name: {{ .name | quote }}
    creationPolicy: Owner
    deletionPolicy: Retain
    template:
      engineVersion: v2
      mergePolicy: Replace
      type: Opaque
      metadata:
        labels:
          {{- include "fleet-secret.credentialLabels" (dict "context" .context "kind" $entry.kind "pushed" .pushed) | nindent 10 }}
      data:
        type: git
        {{- if $entry.url }}
        {{- /* Argo CD uses a template for all that begins with its url: https://HOST.evil.example, too */}}
        {{- $isHost := and (eq $entry.kind "repo-creds") (regexMatch "^https?://[^/]+$" $entry.url) }}
        url: {{ include "fleet-secret.literal" (printf "%s%s" $entry.url ($isHost | ternary "/" "")) | toJson }}
        {{- else }}
        {{- $key := get $entry.properties "url" | default "url" }}
        {{- $slash := printf "{{ if regexMatch \"^https?://[^/]+$\" (index . %q) }}/{{ end }}" $key }}
        url: {{ printf "%s%s" (include "fleet-secret.fromSecret" (dict "key" $key)) (eq $entry.kind "repo-creds" | ternary $slash "") | toJson }}
        {{- end }}
        {{- range $field := include "fleet-secret.gitFields" $entry.type | fromJsonArray }}
        {{- if hasKey $entry.data $field }}
        {{- /* set in plain text below, as a fixed username */}}
        {{- else if and $plain (eq $field "username") }}
        {{- /* any user name goes with a token */}}
        username: git
        {{- else }}
        {{ $field }}: {{ include "fleet-secret.fromSecret" (dict "key" ($plain | ternary "plain" (get $entry.properties $field | default $field)) "base64" (has $field $entry.base64)) | toJson }}
        {{- end }}
        {{- end }}
        {{- range $field, $value := $entry.data }}
        {{ $field }}: {{ include "fleet-secret.literal" $value | toJson }}
        {{- if and (eq $field "githubAppEnterpriseBaseUrl") (not (hasKey $entry.data "githubAppBaseURL")) }}
        {{- /* Flux' name of it; Argo CD ignores what it does not know */}}
        githubAppBaseURL: {{ include "fleet-secret.literal" $value | toJson }}
        {{- end }}
        {{- end }}
{{- end -}}

{{/* A registry's token as Argo CD reads it: `name` of the object, `generator` and `secret`, its name for Argo CD, the
`registry`, whether it is to be `pushed`. */}}
{{- define "fleet-secret.ecrExternalSecret" -}}
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: {{ .name | quote }}
  namespace: {{ .context.Release.Namespace | quote }}
  {{- include "fleet-secret.metadata" .context | nindent 2 }}
spec:
  refreshPolicy: Periodic
  refreshInterval: {{ .context.Values.ecr.refreshInterval | quote }}
  dataFrom:
    - sourceRef:
        generatorRef:
          apiVersion: generators.external-secrets.io/v1alpha1
          kind: ECRAuthorizationToken
          name: {{ .secret | quote }}
  target:
    name: {{ .name | quote }}
    # Merge would complete an existing Secret and never create one
    creationPolicy: Owner
    deletionPolicy: Retain
    template:
      engineVersion: v2
      mergePolicy: Replace
      type: Opaque
      metadata:
        labels:
          {{- include "fleet-secret.credentialLabels" (dict "context" .context "kind" .context.Values.ecr.kind "pushed" .pushed) | nindent 10 }}
      data:
        type: helm
        enableOCI: "true"
        name: {{ .secret | quote }}
        url: {{ .registry.endpoint | quote }}
        username: "{{ `{{ .username }}` }}"
        password: "{{ `{{ .password }}` }}"
{{- end -}}
