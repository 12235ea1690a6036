{{/* What the policies say, by name, once for all engines: the objects and operations that each looks at (kinds by resource; those of
Secrets where it names none), on which objects (conditions) and what has to hold (validations). With params, it has to hold for each
object of the namespace with these labels, as `params`; where there is none, nothing is looked at. */}}
{{- define "fleet-policies.policies" -}}
{{- $effective := include "fleet-policies.effective" . | fromJson -}}
fleet-writers:
  title: Who writes the Secrets that Argo CD deploys with
  operations: [CREATE, UPDATE, DELETE]
  conditions:
    - name: deploys-with-it
      expression: >-
        [object, oldObject].exists(o, o != null && has(o.metadata.labels) && 'argocd.argoproj.io/secret-type' in o.metadata.labels)
  validations:
    - expression: >-
        request.userInfo.username in {{ toJson .Values.writers }}
        {{- with .Values.clusterSecrets.inCluster }}
        || [object, oldObject].exists(o, o != null && o.metadata.name == {{ toJson . }}) && request.userInfo.username in {{ toJson $.Values.clusterSecrets.inClusterWriters }}
        {{- end }}
      messageExpression: >-
        request.userInfo.username + ' may not write Secrets that Argo CD deploys with: change them in Git or in the store, and the fleet\'s controllers write them'
      reason: Forbidden
    - expression: >-
        object == null || !has(object.metadata.labels) || !('argocd.argoproj.io/secret-type' in object.metadata.labels)
        || object.metadata.labels['argocd.argoproj.io/secret-type'] in {{ prepend .Values.repositories.kinds "cluster" | toJson }}
      message: {{ printf "the fleet has no Secrets of this argocd.argoproj.io/secret-type: use %s" (prepend .Values.repositories.kinds "cluster" | join ", ") | quote }}
{{- if .Values.externalSecrets.enabled }}
fleet-external-writers:
  title: Who has External Secrets write and read the Secrets beside Argo CD
  group: external-secrets.io
  kinds: {externalsecrets: ExternalSecret, pushsecrets: PushSecret}
  operations: [CREATE, UPDATE, DELETE]
  validations:
    - expression: >-
        request.userInfo.username in {{ toJson .Values.externalSecrets.writers }}
      messageExpression: >-
        request.userInfo.username + ' may not write ExternalSecrets and PushSecrets here, by which External Secrets would write or send away Argo CD\'s Secrets: change them in Git, and Argo CD writes them'
      reason: Forbidden
fleet-external-targets:
  title: Which Secrets the ExternalSecrets beside Argo CD write
  group: external-secrets.io
  kinds: {externalsecrets: ExternalSecret}
  operations: [CREATE, UPDATE]
  validations:
    - expression: >-
        !has(object.spec) || !has(object.spec.target) || !has(object.spec.target.name) || object.spec.target.name == ''
        || object.spec.target.name == object.metadata.name || object.spec.target.name in {{ toJson .Values.externalSecrets.targets }}
      message: "spec.target.name is not the ExternalSecret's own name: it could write the Secret of another cluster; name both alike, or name the Secret in externalSecrets.targets"
{{- end }}
fleet-cluster-secrets:
  title: How the Secrets of clusters authenticate
  operations: [CREATE, UPDATE]
  conditions:
    - name: is-one-now
      expression: >-
        has(object.metadata.labels) && 'argocd.argoproj.io/secret-type' in object.metadata.labels
        && object.metadata.labels['argocd.argoproj.io/secret-type'] == 'cluster'
        {{- with .Values.clusterSecrets.inCluster }}
        && object.metadata.name != '{{ . }}'
        {{- end }}
  variables:
    - name: config
      expression: "has(object.data) && 'config' in object.data ? string(object.data.config) : ''"
  validations:
    {{- $any := list }}
    {{- range .Values.clusterSecrets.authentication }}
    {{- $any = append $any (include "fleet-policies.holds" .) }}
    {{- end }}
    - expression: >-
        {{ join " || " $any }}
      message: {{ printf "config has none of %s: give the cluster a role to assume, in the secret of the store" (join ", " .Values.clusterSecrets.authentication) | quote }}
    {{- range $effective.forbidden }}
    - expression: >-
        !{{ include "fleet-policies.holds" . }}
      message: {{ printf "config has %s, a credential that does not expire: use a role (%s) instead" . (join " or " $.Values.clusterSecrets.authentication) | quote }}
    {{- end }}
    - expression: >-
        {{ include "fleet-policies.commands" .Values.clusterSecrets.commands }}
      message: {{ printf "config runs another program in Argo CD than %s, has \"command\" twice, or is no compact JSON" (join ", " .Values.clusterSecrets.commands | default "none") | quote }}
    # here and not in fleet-cluster-servers, which looks at nothing while a namespace has no other cluster
    - expression: >-
        !has(object.data) || !('server' in object.data) || !string(object.data.server).matches('{{ include "fleet-policies.slash" . }}')
      message: "server ends with a slash, which Argo CD leaves out: it would be a second name of one cluster; write it without"
    - expression: >-
        !variables.config.matches('{{ include "fleet-policies.escape" . }}')
        && !variables.config.matches('{{ include "fleet-policies.beyondASCII" . }}')
      message: "config has an escape or a character outside of ASCII, by which a key could be hidden: write it as it is"
fleet-cluster-servers:
  title: No two clusters have one server
  operations: [CREATE, UPDATE]
  params: {apiVersion: v1, kind: Secret, labels: {argocd.argoproj.io/secret-type: cluster}}
  conditions:
    - name: has-a-server
      expression: >-
        has(object.metadata.labels) && 'argocd.argoproj.io/secret-type' in object.metadata.labels
        && object.metadata.labels['argocd.argoproj.io/secret-type'] == 'cluster'
        && has(object.data) && 'server' in object.data
    - name: another-than-before
      expression: >-
        oldObject == null || !has(oldObject.metadata.labels) || !('argocd.argoproj.io/secret-type' in oldObject.metadata.labels)
        || oldObject.metadata.labels['argocd.argoproj.io/secret-type'] != 'cluster'
        || !has(oldObject.data) || !('server' in oldObject.data) || oldObject.data.server != object.data.server
  validations:
    - expression: >-
        params.metadata.name == object.metadata.name || !has(params.data) || !('server' in params.data)
        || params.data.server != object.data.server
      messageExpression: >-
        'server is that of the cluster Secret ' + params.metadata.name + ': Argo CD knows a cluster by its server, and would deploy to it with the credential of either; correct the server in the store, or remove the other cluster first'
fleet-repository-secrets:
  title: Which repositories Argo CD has credentials for, and which credentials
  operations: [CREATE, UPDATE]
  conditions:
    - name: is-one-now
      expression: >-
        has(object.metadata.labels) && 'argocd.argoproj.io/secret-type' in object.metadata.labels
        && object.metadata.labels['argocd.argoproj.io/secret-type'] != 'cluster'
  variables:
    - name: keys
      expression: "has(object.data) ? object.data.map(k, k) : []"
    - name: url
      expression: "'url' in variables.keys ? string(object.data.url) : ''"
    - name: type
      expression: "'type' in variables.keys ? string(object.data.type) : ''"
    - name: app
      expression: "'githubAppEnterpriseBaseUrl' in variables.keys ? string(object.data.githubAppEnterpriseBaseUrl) : ''"
    - name: fluxApp
      expression: "'githubAppBaseURL' in variables.keys ? string(object.data.githubAppBaseURL) : ''"
  validations:
    {{- with .Values.repositories }}
    {{- $allowed := concat $effective.hosts $effective.addresses | default (list "none") }}
    {{- if $effective.restricted }}
    - expression: >-
        variables.url.matches('{{ include "fleet-policies.addresses" (dict "hosts" $effective.hosts "addresses" $effective.addresses "web" false) }}')
      message: {{ printf "url is not at an allowed host, or not written as https://HOST/..., ssh://git@HOST/... or git@HOST:...: use %s" (join ", " $allowed) | quote }}
    - expression: >-
        variables.app == '' || variables.app.matches('{{ include "fleet-policies.addresses" (dict "hosts" $effective.hosts "addresses" $effective.addresses "web" true) }}')
      message: {{ printf "githubAppEnterpriseBaseUrl, which is sent what the App signs, is not at an allowed host: use https:// and %s" (join ", " $allowed) | quote }}
    - expression: >-
        variables.fluxApp == '' || variables.fluxApp.matches('{{ include "fleet-policies.addresses" (dict "hosts" $effective.hosts "addresses" $effective.addresses "web" true) }}')
      message: {{ printf "githubAppBaseURL, which is sent what the App signs, is not at an allowed host: use https:// and %s" (join ", " $allowed) | quote }}
    {{- end }}
    {{- $types := list "" }}
    {{- range .types }}{{ $types = append $types (b64enc .) }}{{ end }}
    - expression: >-
        variables.type in {{ toJson $types }}
      message: {{ printf "the fleet has no repositories of this type: use %s" (join ", " .types) | quote }}
    - expression: >-
        !variables.keys.exists(k, k in {{ include "fleet-policies.otherCredentials" .credentials }})
      message: {{ printf "the fleet has no credentials of this kind: use %s" (join ", " .credentials | default "none") | quote }}
    {{- range $effective.demands }}
    - expression: >-
        !variables.keys.exists(k, k in {{ include "fleet-policies.otherCredentials" .credentials }})
      message: {{ printf "the preset %s allows %s alone" .preset (join ", " .credentials) | quote }}
    {{- $beginnings := list }}
    {{- range .beginnings }}{{ $beginnings = append $beginnings (include "fleet-policies.beginning" .) }}{{ end }}
    - expression: >-
        variables.url.matches('^({{ join "|" $beginnings }})')
      message: {{ printf "the preset %s allows addresses that begin with %s alone" .preset (join " or " .beginnings) | quote }}
    {{- end }}
    {{- range .forbidden }}
    - expression: >-
        !('{{ . }}' in variables.keys)
      message: {{ printf "%s takes away what protects the credential on its way: leave it out" . | quote }}
    {{- end }}
    {{- end }}
{{- end -}}
