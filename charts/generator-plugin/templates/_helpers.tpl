{{/* Booleans of the values may be written as the strings "true" and "false": "true" or nothing. */}}
{{- define "generator-plugin.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end -}}

{{- define "generator-plugin.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 53 characters: the objects append to it. */}}
{{- define "generator-plugin.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "generator-plugin.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "generator-plugin.selectorLabels" -}}
app.kubernetes.io/name: {{ include "generator-plugin.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | trunc 63 | trimSuffix "-" | quote }}
{{- end -}}

{{- define "generator-plugin.labels" -}}
{{- $labels := include "generator-plugin.selectorLabels" . | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ = set $labels "app.kubernetes.io/version" (.Values.image.tag | default .Chart.AppVersion | replace "+" "_" | trunc 63 | trimAll "-_.") -}}
{{- $_ = set $labels "app.kubernetes.io/part-of" "argosy" -}}
{{- $_ = set $labels "helm.sh/chart" (printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_")) -}}
{{- with .Values.hub }}{{ $_ = set $labels "argosy.dev/hub" . }}{{ end -}}
{{- with .Values.owner }}{{ $_ = set $labels "argosy.dev/owner" . }}{{ end -}}
{{- toYaml (merge $labels .Values.commonLabels) -}}
{{- end -}}

{{/* Labels of what Argo CD reads: it looks for its own part-of label on some of its configuration. */}}
{{- define "generator-plugin.argocdLabels" -}}
{{- toYaml (merge (dict "app.kubernetes.io/part-of" "argocd") (include "generator-plugin.labels" . | fromYaml)) -}}
{{- end -}}

{{- define "generator-plugin.commonAnnotations" -}}
{{- with .Values.commonAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "generator-plugin.argocdNamespace" -}}
{{- .Values.argocd.namespace | default .Release.Namespace -}}
{{- end -}}

{{- define "generator-plugin.fluxNamespace" -}}
{{- .Values.flux.namespace | default .Release.Namespace -}}
{{- end -}}

{{/* Whether the service sees what Flux has: "true" or nothing. */}}
{{- define "generator-plugin.watchesFlux" -}}
{{- if eq .Values.engine "flux" -}}{{ include "generator-plugin.bool" .Values.flux.watch }}{{- end -}}
{{- end -}}

{{/* Whether the service waits for grants: "true" or nothing. */}}
{{- define "generator-plugin.grants" -}}
{{- include "generator-plugin.bool" .Values.grants.enabled -}}
{{- end -}}

{{/* Where the engine is whom the service answers, and so the grants. */}}
{{- define "generator-plugin.engineNamespace" -}}
{{- if eq .Values.engine "flux" -}}{{ include "generator-plugin.fluxNamespace" . }}{{- else -}}{{ include "generator-plugin.argocdNamespace" . }}{{- end -}}
{{- end -}}

{{- define "generator-plugin.serviceAccountName" -}}
{{- if include "generator-plugin.bool" .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "generator-plugin.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "generator-plugin.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "generator-plugin.tokenSecret" -}}
{{- .Values.token.existingSecret | default (printf "%s-token" (include "generator-plugin.fullname" .)) -}}
{{- end -}}

{{/* How the token comes to be: existing, value, lookup, externalSecrets or none. */}}
{{- define "generator-plugin.tokenMode" -}}
{{- if .Values.token.existingSecret -}}existing
{{- else if .Values.token.value -}}value
{{- else if ne .Values.token.generate "auto" -}}{{ .Values.token.generate }}
{{- /* `lookup` finds nothing where Helm does not see the cluster (helm template, Argo CD): a token made there would change every time */ -}}
{{- else if lookup "v1" "Namespace" "" "kube-system" -}}lookup
{{- else if and (.Capabilities.APIVersions.Has "external-secrets.io/v1") (.Capabilities.APIVersions.Has "generators.external-secrets.io/v1alpha1") -}}externalSecrets
{{- else -}}none
{{- end -}}
{{- end -}}

{{- define "generator-plugin.localCluster" -}}
{{- if eq (toString .Values.localCluster.create) "auto" -}}
{{- if and .Values.owner (eq .Values.engine "argocd") }}true{{ end -}}
{{- else -}}
{{- include "generator-plugin.bool" .Values.localCluster.create -}}
{{- end -}}
{{- end -}}

{{/* The ConfigMap with the facts file. */}}
{{- define "generator-plugin.factsConfigMap" -}}
{{- .Values.facts.configMap | default (printf "%s-facts" (include "generator-plugin.fullname" .)) -}}
{{- end -}}

{{/* The service as a registry: what an OCIRepository of Flux names, and its credentials are for. */}}
{{- define "generator-plugin.registry" -}}
{{- printf "%s.%s.svc:%d" (include "generator-plugin.fullname" .) .Release.Namespace (int .Values.service.port) -}}
{{- end -}}

{{/* The token as Flux sends it: the password of any user. */}}
{{- define "generator-plugin.dockerConfig" -}}
{{- dict "auths" (dict (include "generator-plugin.registry" .context) (dict "username" "flux" "password" .token)) | toJson -}}
{{- end -}}

{{- define "generator-plugin.baseUrl" -}}
{{- .Values.plugin.baseUrl | default (printf "%s://%s.%s.svc:%d" (eq (include "generator-plugin.bool" .Values.tls.enabled) "true" | ternary "https" "http") (include "generator-plugin.fullname" .) .Release.Namespace (int .Values.service.port)) -}}
{{- end -}}

{{/* Everything about the values that a schema cannot say, or not say well. */}}
{{- define "generator-plugin.validate" -}}
{{- $v := .Values -}}
{{- /* as a part of another chart the values have that part's name in front */ -}}
{{- $at := contains "/charts/" .Template.BasePath | ternary (printf "%s." .Chart.Name) "" -}}
{{- if not $v.hub -}}
{{- fail (printf "%shub is required: the name of the hub whose members the service computes" $at) -}}
{{- end -}}
{{- if and (not $v.source.git.url) (not $v.source.volume) -}}
{{- fail (printf "%ssource.git.url is required: the fleet's repository (or source.volume, an existing volume with it)" $at) -}}
{{- end -}}
{{- if and $v.source.git.url $v.source.volume -}}
{{- fail "source.git.url and source.volume contradict each other: the repository comes from one of them" -}}
{{- end -}}
{{- if regexMatch "^https?://[^/]*@" $v.source.git.url -}}
{{- fail "source.git.url holds credentials, and values are stored in plain text: use source.git.credentialsSecret" -}}
{{- end -}}
{{- if gt (len $v.source.volume) 1 -}}
{{- fail (printf "source.volume: one volume source, found %d: %s" (len $v.source.volume) (keys $v.source.volume | sortAlpha | join ", ")) -}}
{{- end -}}
{{- if and $v.source.path (not $v.source.volume) -}}
{{- fail "source.path has a meaning with source.volume only" -}}
{{- end -}}
{{- if or (hasPrefix "/" $v.source.path) (has ".." (splitList "/" $v.source.path)) -}}
{{- fail (printf "source.path: %q leaves the volume" $v.source.path) -}}
{{- end -}}
{{- if and $v.source.git.credentialsSecret (not $v.source.git.url) -}}
{{- fail "source.git.credentialsSecret has a meaning with source.git.url only" -}}
{{- end -}}
{{- if and (eq $v.facts.from "file") (not $v.facts.configMap) (not $v.owner) -}}
{{- fail "facts.configMap is required with facts.from: file, where no owner says whose facts localCluster has" -}}
{{- end -}}
{{- if and (eq $v.engine "flux") (eq $v.facts.from "kubernetes") -}}
{{- fail "facts.from: kubernetes reads Argo CD's cluster Secrets, and with engine: flux there are none: file or none" -}}
{{- end -}}
{{- if and $v.facts.configMap (ne $v.facts.from "file") -}}
{{- fail (printf "facts.configMap has no effect with facts.from: %s" $v.facts.from) -}}
{{- end -}}
{{- if include "generator-plugin.grants" . -}}
{{- if not $v.owner -}}
{{- fail "grants.enabled needs owner: the member that the grants are for" -}}
{{- end -}}
{{- if and (eq $v.engine "argocd") (ne $v.facts.from "kubernetes") -}}
{{- fail (printf "grants.enabled needs facts.from: kubernetes, not %s: a grant is held until the Applications have gone" $v.facts.from) -}}
{{- end -}}
{{- if and (eq $v.engine "flux") (not (include "generator-plugin.watchesFlux" .)) -}}
{{- fail "grants.enabled needs flux.watch: a grant is held until the HelmReleases have gone" -}}
{{- end -}}
{{- end -}}
{{- if and $v.token.existingSecret $v.token.value -}}
{{- fail "token.existingSecret and token.value contradict each other" -}}
{{- end -}}
{{- if hasPrefix "$" $v.token.value -}}
{{- fail "token.value must not begin with $: Argo CD sends such a text in place of a token it cannot find, and the service refuses it" -}}
{{- end -}}
{{- if and $v.token.value (lt (len $v.token.value) 22) -}}
{{- fail (printf "token.value: %d characters, at least 22 are needed; openssl rand -hex 16 makes a token" (len $v.token.value)) -}}
{{- end -}}
{{- if and (eq (include "generator-plugin.tokenMode" .) "externalSecrets") (ne (include "generator-plugin.argocdNamespace" .) .Release.Namespace) -}}
{{- fail "token.generate: externalSecrets makes one Secret, but argocd.namespace is another than the release's: set token.existingSecret and make it in both" -}}
{{- end -}}
{{- if and (include "generator-plugin.bool" $v.tls.enabled) (not $v.tls.secretName) -}}
{{- fail "tls.secretName is required with tls.enabled: true" -}}
{{- end -}}
{{- if and $v.tls.secretName (not (include "generator-plugin.bool" $v.tls.enabled)) -}}
{{- fail "tls.secretName has no effect with tls.enabled: false" -}}
{{- end -}}
{{- if and $v.tls.clientCASecret (not (include "generator-plugin.bool" $v.tls.enabled)) -}}
{{- fail "tls.clientCASecret has no effect with tls.enabled: false" -}}
{{- end -}}
{{- if and $v.tls.clientCASecret (eq $v.engine "argocd") (not $v.plugin.baseUrl) -}}
{{- fail "tls.clientCASecret: Argo CD's plugin client has no certificate to present, so no ApplicationSet would get an answer: set plugin.baseUrl to a proxy that has one" -}}
{{- end -}}
{{- $fullname := include "generator-plugin.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $fullname) -}}
{{- fail (printf "fullnameOverride: %q is no name of a Service (lower-case letters, digits and '-', beginning with a letter): set another" $fullname) -}}
{{- end -}}
{{- if include "generator-plugin.bool" $v.web.enabled -}}
{{- if eq (int $v.web.port) 8080 -}}
{{- fail "web.port: 8080 is where the pod serves Argo CD and Flux: choose another" -}}
{{- end -}}
{{- if eq (int $v.web.port) (int $v.service.port) -}}
{{- fail (printf "web.port: %d is service.port, too: choose another" (int $v.web.port)) -}}
{{- end -}}
{{- end -}}
{{- if include "generator-plugin.bool" $v.serviceMonitor.enabled -}}
{{- if gt (include "generator-plugin.milliseconds" $v.serviceMonitor.scrapeTimeout | int) (include "generator-plugin.milliseconds" $v.serviceMonitor.interval | int) -}}
{{- fail (printf "serviceMonitor.scrapeTimeout: %s is longer than serviceMonitor.interval, %s: the Prometheus Operator refuses it" $v.serviceMonitor.scrapeTimeout $v.serviceMonitor.interval) -}}
{{- end -}}
{{- end -}}
{{- $start := toDate "2006-01-02" "2000-01-01" -}}
{{- $drain := sub (dateModify $v.drainDelay $start | unixEpoch) (unixEpoch $start) -}}
{{- if and $drain (ge $drain (int64 $v.terminationGracePeriodSeconds)) -}}
{{- fail (printf "drainDelay: %s is not shorter than terminationGracePeriodSeconds, %d: the kubelet would end the service before it has stopped" $v.drainDelay (int64 $v.terminationGracePeriodSeconds)) -}}
{{- end -}}
{{- if and (eq $v.dnsPolicy "None") (not (get ($v.dnsConfig | default dict) "nameservers")) -}}
{{- fail "dnsConfig.nameservers is required with dnsPolicy: None" -}}
{{- end -}}
{{- $mounts := list -}}
{{- range $v.source.git.mountCredentials -}}
{{- if has .name $mounts -}}
{{- fail (printf "source.git.mountCredentials: %s is there twice" .name) -}}
{{- end -}}
{{- $mounts = append $mounts .name -}}
{{- end -}}
{{- $names := list "token-file" -}}
{{- range $token := $v.tokens -}}
{{- if has $token.name $names -}}
{{- fail (printf "tokens: the name %s is taken: each token has its own, and token-file is that of the token" $token.name) -}}
{{- end -}}
{{- $names = append $names $token.name -}}
{{- $allow := $token.allow -}}
{{- $why := "" -}}
{{- $asks := or (has "getparams" $allow.routes) (has "flux-inputs" $allow.routes) -}}
{{- range $key := list "views" "hubs" "groups" "owners" "tenants" -}}
{{- if and (hasKey $allow $key) (eq (join "," $allow.routes) "webhook") }}{{ $why = printf "%s with only the route webhook, which asks for nothing" $key }}{{ end -}}
{{- end -}}
{{- if and (hasKey $allow "base") (not (has "getparams" $allow.routes)) }}{{ $why = "base without the route getparams, which has it" }}{{ end -}}
{{- if and $allow.views (not $asks) (not $why) }}{{ $why = "views without the route getparams or flux-inputs, which have them" }}{{ end -}}
{{- if $allow.groups -}}
{{- range $route := list "fleet" "registry" -}}
{{- if has $route $allow.routes }}{{ $why = printf "groups with the route %s, which tells of all groups" $route }}{{ end -}}
{{- end -}}
{{- range $view := list "members" "agents" "grants" -}}
{{- if has $view ($allow.views | default list) }}{{ $why = printf "groups with the view %s, which tells of all groups" $view }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $why }}{{ fail (printf "tokens: %s has %s: the service refuses it" $token.name $why) }}{{ end -}}
{{- end -}}
{{- if and (ne $v.state.type "persistentVolumeClaim") $v.state.existingClaim -}}
{{- fail "state.existingClaim needs state.type: persistentVolumeClaim" -}}
{{- end -}}
{{- if and (eq $v.state.type "persistentVolumeClaim") (gt (int $v.replicas) 1) (ne $v.state.accessMode "ReadWriteMany") -}}
{{- fail (printf "state.accessMode: %s lets one pod alone write, but replicas is %d: ReadWriteMany, or replicas: 1" $v.state.accessMode (int $v.replicas)) -}}
{{- end -}}
{{- if and (not (kindIs "invalid" $v.podDisruptionBudget.minAvailable)) (not (kindIs "invalid" $v.podDisruptionBudget.maxUnavailable)) -}}
{{- fail "podDisruptionBudget: minAvailable and maxUnavailable contradict each other" -}}
{{- end -}}
{{- if and (eq $v.state.type "kubernetes") (eq (include "generator-plugin.stateNamespace" .) (include "generator-plugin.argocdNamespace" .)) (eq $v.engine "argocd") -}}
{{- fail (printf "state.namespace: %s is Argo CD's, whose ConfigMaps configure it: name another namespace" (include "generator-plugin.stateNamespace" .)) -}}
{{- end -}}
{{- if and (include "generator-plugin.localCluster" .) (not $v.owner) -}}
{{- fail "localCluster.create needs owner: the name that the cluster gets" -}}
{{- end -}}
{{- range $arg := $v.extraArgs -}}
{{- $flag := regexFind "^--?[a-z-]+" $arg | trimPrefix "-" | trimPrefix "-" -}}
{{- if has $flag (list "source" "ref" "interval" "hub" "listen" "token-file" "tokens-file" "tokens-dir" "token-rate" "token-burst" "failure-rate" "failure-burst" "tls-client-ca" "facts" "namespace" "flux-namespace" "grants" "grants-namespace" "refresh-applicationsets" "plugin-configmap" "state-dir" "state" "state-namespace" "state-keys-file" "git-credentials" "mount-credentials" "tls-cert" "tls-key" "drain-delay" "log-format" "log-level") -}}
{{- fail (printf "extraArgs: --%s is set by the chart: use its value" $flag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A duration of Prometheus in milliseconds. */}}
{{- define "generator-plugin.milliseconds" -}}
{{- $milliseconds := 0 -}}
{{- range $i, $each := list 3600000 60000 1000 1 -}}
{{- $part := regexReplaceAll "^(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?$" $ (printf "${%d}" (add1 $i)) -}}
{{- $milliseconds = add $milliseconds (mul (int64 $part) $each) -}}
{{- end -}}
{{- $milliseconds -}}
{{- end -}}

{{/* namespace of the ConfigMaps that hold state */}}
{{- define "generator-plugin.stateNamespace" -}}
{{- .Values.state.namespace | default .Release.Namespace -}}
{{- end -}}

{{/* What Go may use of the container's memory limit: eight tenths of what Git leaves, which has at most 384 MiB, and four
tenths of a small limit; nothing without a limit in Mi or Gi, or where extraEnv has a GOMEMLIMIT. */}}
{{- define "generator-plugin.memoryLimit" -}}
{{- $limit := toString (dig "limits" "memory" "" (.Values.resources | default dict)) -}}
{{- $own := false -}}
{{- range .Values.extraEnv }}{{ if eq .name "GOMEMLIMIT" }}{{ $own = true }}{{ end }}{{ end -}}
{{- if and (not $own) (regexMatch "^[0-9]+(Mi|Gi)$" $limit) -}}
{{- $mebibytes := mul (trimSuffix "Mi" (trimSuffix "Gi" $limit) | int64) (hasSuffix "Gi" $limit | ternary 1024 1) -}}
{{- $git := or .Values.source.git.url .Values.source.git.mountCredentials | empty | ternary 0 384 -}}
{{- printf "%dMiB" (max (div (mul (sub $mebibytes $git) 8) 10) (div (mul $mebibytes 4) 10)) -}}
{{- end -}}
{{- end -}}
