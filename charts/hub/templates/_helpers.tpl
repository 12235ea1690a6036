{{/* Booleans of the values may be written as the strings "true" and "false": "true" or nothing. */}}
{{- define "hub.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end -}}

{{- define "hub.labels" -}}
{{- $labels := dict "app.kubernetes.io/name" "hub" "app.kubernetes.io/instance" (.Release.Name | trunc 63 | trimSuffix "-") -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ = set $labels "app.kubernetes.io/part-of" "argosy" -}}
{{- $_ = set $labels "helm.sh/chart" (printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_")) -}}
{{- $_ = set $labels "argosy.dev/hub" .Values.service.hub -}}
{{- toYaml (merge $labels .Values.commonLabels) -}}
{{- end -}}

{{/* hub.annotations: {root, more}: the annotations of an object, nothing where there are none. */}}
{{- define "hub.annotations" -}}
{{- with merge (dict) (.more | default dict) .root.Values.commonAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* hub.chart: {root, name}: one of Argosy's charts as the source of an Application. */}}
{{- define "hub.chart" -}}
{{- $charts := .root.Values.charts -}}
repoURL: {{ $charts.repoURL | trimPrefix "oci://" | quote }}
{{- if $charts.path }}
path: {{ printf "%s/%s" (trimSuffix "/" $charts.path) .name | quote }}
{{- else }}
chart: {{ .name | quote }}
{{- end }}
targetRevision: {{ $charts.version | default (empty $charts.path | ternary .root.Chart.Version (printf "v%s" .root.Chart.Version)) | quote }}
{{- end -}}

{{/* Repositories that a project admits where a tenant has no list of its own. */}}
{{- define "hub.sourceRepos" -}}
{{- $v := .Values -}}
{{- $repos := list $v.service.source.git.url ($v.charts.repoURL | trimPrefix "oci://") -}}
{{- concat $repos $v.projects.catalogRepos $v.projects.sourceRepos | uniq | toYaml -}}
{{- end -}}

{{/* hub.query: {root, view, more}: the plugin generator of a root. */}}
{{- define "hub.query" -}}
plugin:
  configMapRef:
    name: {{ .root.Values.service.plugin.configMap | quote }}
  requeueAfterSeconds: {{ .root.Values.roots.requeueAfterSeconds | int64 }}
  input:
    parameters:
      {{- merge (dict "view" .view "hub" .root.Values.service.hub) (.more | default dict) | toYaml | nindent 6 }}
{{- end -}}

{{/* hub.removal: the Application's metadata from its parameter set: the reason of a hold, and with `deletion: cascade` the
cascading finalizer. A key without a value would remove the template's. */}}
{{- define "hub.removal" -}}
{{ `{{- if or (eq .deletion "cascade") (get . "hold") }}` }}
metadata:
{{ `{{- end }}` }}
{{ `{{- with get . "hold" }}` }}
  annotations:
    argosy.dev/hold: {{ `{{ quote . }}` }}
{{ `{{- end }}` }}
{{ `{{- if eq .deletion "cascade" }}` }}
  finalizers:
    - resources-finalizer.argocd.argoproj.io
{{ `{{- end }}` }}
{{- end -}}

{{/* hub.grants: ownership grants on a member, whose service may hold those of these groups alone. */}}
{{- define "hub.grants" -}}
{enabled: true{{ with without .Values.roots.groups "provisioning" }}, groups: {{ sortAlpha . | toJson | replace "," ", " }}{{ end }}}
{{- end -}}

{{/* Image and pull secrets of the service on members, as JSON: the hub's own, where they are not the chart's. */}}
{{- define "hub.memberImage" -}}
{{- $out := dict -}}
{{- $s := .Values.service -}}
{{- if or (ne $s.image.repository "ghcr.io/argosy-hub/generator-plugin") $s.image.tag $s.image.digest }}{{ $_ := set $out "image" $s.image }}{{ end -}}
{{- with $s.imagePullSecrets }}{{ $_ := set $out "imagePullSecrets" . }}{{ end -}}
{{- toJson $out -}}
{{- end -}}

{{/* Everything about the values that a schema cannot say, or not say well. */}}
{{- define "hub.validate" -}}
{{- $v := .Values -}}
{{- if not $v.service.source.git.url -}}
{{- fail "service.source.git.url is required: the fleet repository, which Argo CD deploys from too" -}}
{{- end -}}
{{- if $v.service.owner -}}
{{- fail "service.owner: a hub has none, it is a member's: install charts/generator-plugin there" -}}
{{- end -}}
{{- if ne $v.service.engine "argocd" -}}
{{- fail (printf "service.engine: %s: this chart makes a hub of Argo CD; charts/agent-flux makes one of Flux" $v.service.engine) -}}
{{- end -}}
{{- if ne ($v.service.argocd.namespace | default .Release.Namespace) .Release.Namespace -}}
{{- fail (printf "service.argocd.namespace: %s is not the release's: install the hub into the namespace of Argo CD" $v.service.argocd.namespace) -}}
{{- end -}}
{{- if and (kindIs "string" $v.install.policies) (not (include "hub.bool" $v.install.policies)) -}}
{{- fail "install.policies: \"false\" is a text, which Helm itself takes for no answer: write false without quotes" -}}
{{- end -}}
{{- if and (include "hub.bool" $v.install.policies) (not (has .Release.Namespace $v.policies.namespaces)) -}}
{{- fail (printf "policies.namespaces: expected %s, the namespace of Argo CD, among them" .Release.Namespace) -}}
{{- end -}}
{{- if and (include "hub.bool" $v.install.policies) (has "Deny" $v.policies.validationActions) -}}
{{- range $key, $writers := dict "externalSecrets.writers" $v.policies.externalSecrets.writers "clusterSecrets.inClusterWriters" $v.policies.clusterSecrets.inClusterWriters -}}
{{- if not (regexMatch (printf "(^|,)system:serviceaccount:%s:" $.Release.Namespace) (join "," $writers)) -}}
{{- fail (printf "policies.%s: expected Argo CD's application controller among them, as system:serviceaccount:%s:argocd-application-controller: with Deny it could write nothing of the fleet there" $key $.Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $key, $is := dict "platform" (eq $v.projects.platform "default") "tenants" (hasKey $v.projects.tenants "default") -}}
{{- if $is -}}
{{- fail (printf "projects.%s: default is Argo CD's own project, which the hub's own Application is in; expected another name" $key) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $v.projects.tenants $v.projects.platform -}}
{{- fail (printf "projects.tenants.%s: projects.platform is the tenant of the hub itself, and has a project already" $v.projects.platform) -}}
{{- end -}}
{{- range $tenant, $project := $v.projects.tenants -}}
{{- if not (hasKey ($project | default dict) "clusters") -}}
{{- $others := concat (list $v.service.hub) (keys $v.projects.tenants | sortAlpha) -}}
{{- range $name, $its := $v.projects.tenants -}}
{{- if ne $name $tenant -}}
{{- $others = concat $others (get ($its | default dict) "clusters" | default list) -}}
{{- end -}}
{{- end -}}
{{- range $other := $others -}}
{{- if hasPrefix (printf "%s-" $tenant) $other -}}
{{- fail (printf "projects.tenants.%s.clusters is required: the default, %s-*, reaches %s, too" $tenant $tenant $other) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $store := $v.secretStore -}}
{{- range $provider, $keys := dict "aws" (list "region") "vault" (list "server" "auth") "gcp" (list "projectID") "azure" (list "vaultUrl") -}}
{{- range $key := $keys -}}
{{- if and (eq $store.provider $provider) (not (get (get $store $provider) $key)) -}}
{{- fail (printf "secretStore.%s.%s is required with secretStore.provider: %s" $provider $key $provider) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- /* helm install and helm upgrade see the cluster; helm template and Argo CD do not */ -}}
{{- if and (lookup "v1" "Namespace" "" "kube-system") (not (.Capabilities.APIVersions.Has "argoproj.io/v1alpha1/ApplicationSet")) -}}
{{- fail (printf "this cluster has no ApplicationSets: install Argo CD into the namespace %s first" .Release.Namespace) -}}
{{- end -}}
{{- end -}}
