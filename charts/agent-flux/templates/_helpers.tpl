{{- define "agent-flux.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end -}}

{{- define "agent-flux.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/part-of: argosy
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") | quote }}
{{- end -}}

{{/* The values of charts/generator-plugin, as JSON. */}}
{{- define "agent-flux.pluginValues" -}}
{{- $given := .Values.plugin.values | default dict -}}
{{- if kindIs "string" $given -}}
{{- $given = fromYaml $given -}}
{{- if hasKey $given "Error" -}}
{{- fail (printf "plugin.values is no YAML: %s" $given.Error) -}}
{{- end -}}
{{- end -}}
{{- mergeOverwrite (dict "engine" "flux" "facts" (dict "from" "file")) (deepCopy $given) .Values.plugin.extraValues | toJson -}}
{{- end -}}

{{/* Everything that the templates need to know, as JSON. */}}
{{- define "agent-flux.all" -}}
{{- $plugin := include "agent-flux.pluginValues" . | fromJson -}}
{{- $git := ($plugin.source | default dict).git | default dict -}}
{{- $create := include "agent-flux.bool" .Values.plugin.create -}}
{{- $hub := .Values.hub | default $plugin.hub -}}
{{- $owner := .Values.owner | default $plugin.owner -}}
{{- if not $hub -}}{{- fail "hub is required: the name of the hub, here or in plugin.values" -}}{{- end -}}
{{- if not $owner -}}{{- fail "owner is required: the member's name or hub, here or in plugin.values" -}}{{- end -}}
{{- if and $create (ne (default "" $plugin.owner) $owner) -}}
{{- fail (printf "owner: the artifact is that of %s, but the service on this cluster is %s's" $owner (default "the hub" $plugin.owner)) -}}
{{- end -}}
{{- $local := not .Values.artifact.url -}}
{{- if and $local (not $create) -}}{{- fail "artifact.url is required with plugin.create: false: where is the service?" -}}{{- end -}}
{{- $tls := include "agent-flux.bool" (($plugin.tls | default dict).enabled | default false) -}}
{{- $insecure := toString .Values.artifact.insecure -}}
{{- if eq $insecure "auto" -}}{{- $insecure = and $local (not $tls) | toString -}}{{- end -}}
{{- $part := $plugin.nameOverride | default "generator-plugin" -}}
{{- $service := $plugin.fullnameOverride | default (contains $part "generator-plugin" | ternary "generator-plugin" (printf "generator-plugin-%s" $part)) | trunc 53 | trimSuffix "-" -}}
{{- $port := ($plugin.service | default dict).port | default 8080 | int -}}
{{- $url := .Values.artifact.url | default (printf "oci://%s.%s.svc:%d/flux/%s/%s" $service .Release.Namespace $port $hub $owner) -}}
{{- $secret := .Values.artifact.secretName -}}
{{- if and $local (not $secret) -}}{{- $secret = ($plugin.token | default dict).existingSecret | default (printf "%s-token" $service) -}}{{- end -}}
{{- $ref := .Values.fleet.ref -}}
{{- if not $ref -}}
{{- $of := $git.ref | default "main" -}}
{{- if eq $of "HEAD" -}}{{- fail "source.git.ref: HEAD is a branch of that name to Flux; expected the name of the branch, there or in fleet.ref" -}}{{- end -}}
{{- $ref = dict (hasPrefix "refs/" $of | ternary "name" (regexMatch "^[0-9a-f]{40}$" $of | ternary "commit" "branch")) $of -}}
{{- end -}}
{{- $fleet := dict "url" (.Values.fleet.url | default $git.url) "ref" $ref "secretName" (.Values.fleet.secretName | default $git.credentialsSecret) "interval" .Values.fleet.interval -}}
{{- $charts := $fleet -}}
{{- if .Values.plugin.chart.url -}}
{{- $same := eq (.Values.plugin.chart.url | trimSuffix "/" | trimSuffix ".git") ($fleet.url | default "" | trimSuffix "/" | trimSuffix ".git") -}}
{{- $charts = dict "url" .Values.plugin.chart.url "ref" (.Values.plugin.chart.ref | default (dict "branch" "main")) "secretName" (.Values.plugin.chart.secretName | default (ternary $fleet.secretName "" $same)) "interval" "10m" -}}
{{- end -}}
{{- if and (not .Values.plugin.chart.version) (hasPrefix "oci://" .Values.plugin.chart.url) -}}{{- fail "plugin.chart.version is required with a registry in plugin.chart.url" -}}{{- end -}}
{{- if and .Values.plugin.chart.version (not .Values.plugin.chart.url) -}}{{- fail "plugin.chart.url is required with plugin.chart.version: a Helm repository or registry" -}}{{- end -}}
{{- if and $create (not $charts.url) -}}{{- fail "plugin.chart.url is required: the repository with charts/generator-plugin, as plugin.values has no source.git.url" -}}{{- end -}}
{{- if and .Values.fleet.kustomizations (not $fleet.url) -}}{{- fail "fleet.url is required with fleet.kustomizations" -}}{{- end -}}
{{- dict "plugin" $plugin "create" $create "hub" $hub "owner" $owner "url" $url "insecure" (eq $insecure "true") "secretName" $secret "fleet" $fleet "charts" $charts | toJson -}}
{{- end -}}

{{/* A GitRepository: its name and its part of agent-flux.all. */}}
{{- define "agent-flux.gitRepository" -}}
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: {{ .name | quote }}
  namespace: {{ .context.Release.Namespace | quote }}
  labels:
    {{- include "agent-flux.labels" .context | nindent 4 }}
spec:
  url: {{ .git.url | quote }}
  ref:
    {{- toYaml .git.ref | nindent 4 }}
  interval: {{ .git.interval | quote }}
  timeout: 1m
  {{- with .git.secretName }}
  secretRef:
    name: {{ . | quote }}
  {{- end }}
{{- end -}}
