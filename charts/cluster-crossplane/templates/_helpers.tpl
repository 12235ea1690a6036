{{/* cluster-crossplane.metadata: {root, name, annotations} -> metadata of an object. */}}
{{- define "cluster-crossplane.metadata" -}}
{{- $root := .root -}}
name: {{ .name | quote }}
labels:
  {{- merge (dict
        "app.kubernetes.io/name" "cluster-crossplane"
        "app.kubernetes.io/instance" ($root.Release.Name | trunc 63 | trimSuffix "-")
        "app.kubernetes.io/managed-by" $root.Release.Service
        "app.kubernetes.io/part-of" "argosy"
        "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_"))
      ) (.labels | default dict) $root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (.annotations | default dict) $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* cluster-crossplane.checked: fails where something of the part is missing. */}}
{{- define "cluster-crossplane.checked" -}}
{{- $v := .Values -}}
{{- if not $v.part }}{{ fail "part is required: provider, providerConfig, definitions, claims, controlPlane or nodes" }}{{ end -}}
{{- $needed := dict -}}
{{- if eq $v.part "provider" -}}
{{- if eq $v.credentials.source "IRSA" -}}
{{- if not $v.credentials.roleARN }}{{ $needed = dict "account" $v.account "clusterName" $v.clusterName }}{{ end -}}
{{- end -}}
{{- else if eq $v.part "claims" -}}
{{- $needed = dict "region" $v.region -}}
{{- else if has $v.part (list "controlPlane" "nodes") -}}
{{- $inputs := $v.inputs | default dict -}}
{{- $needed = dict "clusterName" $v.clusterName "version" $v.version "region" $v.region -}}
{{- if eq $v.part "nodes" -}}
{{- $_ := set $needed "nodes.version" $v.nodes.version -}}
{{- $_ := set $needed "inputs.nodeRoleARN" $inputs.nodeRoleARN -}}
{{- else -}}
{{- $_ := set $needed "inputs.roleARN" $inputs.roleARN -}}
{{- if gt (len $v.clusterName) 53 }}{{ fail (printf "clusterName %q has %d characters; expected at most 53, as the role <clusterName>-crossplane has at most 64" $v.clusterName (len $v.clusterName)) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $key, $value := $needed }}{{ if not $value }}{{ fail (printf "%s is required for part %s" $key $v.part) }}{{ end }}{{ end -}}
{{- end -}}

{{/* cluster-crossplane.serviceAccount: the ServiceAccount of the provider's packages. The role that a
hub makes for a cluster's own Crossplane trusts this name. */}}
{{- define "cluster-crossplane.serviceAccount" -}}provider-aws{{- end -}}

{{/* cluster-crossplane.roleARN: the role of that ServiceAccount, empty where it has none. */}}
{{- define "cluster-crossplane.roleARN" -}}
{{- $c := .Values.credentials -}}
{{- if eq $c.source "IRSA" -}}
{{- $c.roleARN | default (printf "arn:%s:iam::%s:role/%s-crossplane" $c.partition .Values.account .Values.clusterName) -}}
{{- end -}}
{{- end -}}

{{/* cluster-crossplane.stays: annotations of an object that outlives its Application or HelmRelease. */}}
{{- define "cluster-crossplane.stays" -}}
argocd.argoproj.io/sync-options: Prune=false,Delete=false
helm.sh/resource-policy: keep
{{- end -}}

{{/* cluster-crossplane.definition: annotations of an object that comes before the others, and stays. */}}
{{- define "cluster-crossplane.definition" -}}
{{ include "cluster-crossplane.stays" . }}
argocd.argoproj.io/sync-wave: "-1"
{{- end -}}

{{/* cluster-crossplane.networkInput: {root} -> the network of a cluster, JSON: empty where subnets are given. */}}
{{- define "cluster-crossplane.networkInput" -}}
{{- $v := .Values -}}
{{- if not $v.inputs.subnetIDs -}}
{{- $letters := list -}}
{{- range $i := until (int $v.network.zones) }}{{ $letters = append $letters (printf "%s%s" $v.region (index (list "a" "b" "c" "d") $i)) }}{{ end -}}
{{- dict "cidr" $v.inputs.network.cidr "zones" ($v.inputs.network.zones | default $letters) | toJson -}}
{{- end -}}
{{- end -}}

{{/* cluster-crossplane.version: the schema of a version: a pattern, and what may follow what is there. */}}
{{- define "cluster-crossplane.version" -}}
type: string
maxLength: 12
pattern: ^[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$
x-kubernetes-validations:
  - rule: int(self.split('.')[0]) == int(oldSelf.split('.')[0]){{ if . }} && int(self.split('.')[1]) <= int(oldSelf.split('.')[1]) + 1{{ end }}
    message: {{ ternary "expected one minor version at a time" "expected the same major version" . | quote }}
  - rule: int(self.split('.')[1]) >= int(oldSelf.split('.')[1])
    message: expected no version before the one that is there
{{- end -}}

{{/* cluster-crossplane.network: the schema of a network, which stays as it was made. */}}
{{- define "cluster-crossplane.network" -}}
cidr:
  type: string
  pattern: ^[0-9]{1,3}\.[0-9]{1,3}\.0\.0/16$
  x-kubernetes-validations:
    - {rule: self == oldSelf, message: a network keeps its addresses}
zones:
  type: array
  minItems: {{ int .Values.network.zones }}
  maxItems: {{ int .Values.network.zones }}
  items: {type: string, maxLength: 32}
  x-kubernetes-validations:
    - {rule: self == oldSelf, message: a network stays in its zones}
{{- end -}}

{{/* cluster-crossplane.patches: the patches that all resources have. */}}
{{- define "cluster-crossplane.patches" -}}
- {type: FromCompositeFieldPath, fromFieldPath: spec.deletionPolicy, toFieldPath: spec.deletionPolicy}
- {type: FromCompositeFieldPath, fromFieldPath: spec.providerConfig, toFieldPath: spec.providerConfigRef.name}
{{- end -}}

{{/* cluster-crossplane.regional: the patches of resources of a region. */}}
{{- define "cluster-crossplane.regional" -}}
{{ include "cluster-crossplane.patches" . }}
- {type: FromCompositeFieldPath, fromFieldPath: spec.region, toFieldPath: spec.forProvider.region}
{{- end -}}

{{/* cluster-crossplane.named: a format -> the patch that names a resource by its composite. */}}
{{- define "cluster-crossplane.named" -}}
- type: FromCompositeFieldPath
  fromFieldPath: metadata.name
  toFieldPath: metadata.name
  transforms:
    - {type: string, string: {type: Format, fmt: {{ . | quote }}}}
{{- end -}}

{{/* cluster-crossplane.routes: {name, labels, to} -> a route table whose traffic to the internet goes to a gateway. */}}
{{- define "cluster-crossplane.routes" -}}
- name: {{ .name }}-routes
  base:
    apiVersion: ec2.aws.upbound.io/v1beta1
    kind: RouteTable
    metadata:
      labels: {{ .labels | toJson }}
    spec:
      forProvider:
        vpcIdSelector: {matchControllerRef: true}
  patches:
    - {type: PatchSet, patchSetName: common}
    {{- include "cluster-crossplane.named" (printf "%%s-%s" .name) | nindent 4 }}
- name: {{ .name }}-internet
  base:
    apiVersion: ec2.aws.upbound.io/v1beta1
    kind: Route
    spec:
      forProvider:
        destinationCidrBlock: 0.0.0.0/0
        routeTableIdSelector: {matchControllerRef: true, matchLabels: {{ .labels | toJson }}}
        {{- toYaml .to | nindent 8 }}
  patches:
    - {type: PatchSet, patchSetName: common}
    {{- include "cluster-crossplane.named" (printf "%%s-%s" .name) | nindent 4 }}
{{- end -}}

{{/* cluster-crossplane.subnets: {makes, zones, of, to} -> the patches that give a resource its subnets:
those of the network that is made, once all are there, or those of the composite. */}}
{{- define "cluster-crossplane.subnets" -}}
{{- if .makes -}}
{{- $i := 0 -}}
{{- range $access := .of }}{{ range $zone := $.zones }}
- {type: FromCompositeFieldPath, fromFieldPath: "status.{{ $access }}[zone-{{ $zone }}]", toFieldPath: "{{ $.to }}[{{ $i }}]", policy: {fromFieldPath: Required}}
{{- $i = add1 $i }}
{{- end }}{{ end }}
{{- else -}}
- {type: FromCompositeFieldPath, fromFieldPath: spec.subnetIDs, toFieldPath: {{ .to }}, policy: {fromFieldPath: Required}}
{{- end -}}
{{- end -}}

{{/* cluster-crossplane.trust: the format of the trust policy of the role of a cluster's own Crossplane,
with the issuer twice and the ARN of the identity provider. */}}
{{- define "cluster-crossplane.trust" -}}
{{- $equals := dict "%s:aud" "sts.amazonaws.com" "%s:sub" (printf "system:serviceaccount:%s:%s" .Values.crossplaneNamespace (include "cluster-crossplane.serviceAccount" .)) -}}
{{- dict "Version" "2012-10-17" "Statement" (list (dict "Effect" "Allow" "Action" "sts:AssumeRoleWithWebIdentity" "Principal" (dict "Federated" "%s") "Condition" (dict "StringEquals" $equals))) | toJson -}}
{{- end -}}

{{/* cluster-crossplane.claims: the kinds that applications may claim, by name. Fields have the names of the
provider's. */}}
{{- define "cluster-crossplane.claims" -}}
Queue:
  base:
    apiVersion: sqs.aws.upbound.io/v1beta1
    kind: Queue
    spec:
      providerConfigRef: {name: {{ .Values.providerConfig | quote }}}
      forProvider:
        region: {{ .Values.region | quote }}
        sqsManagedSseEnabled: true
  fields:
    messageRetentionSeconds: {type: integer, minimum: 60, maximum: 1209600}
    visibilityTimeoutSeconds: {type: integer, minimum: 0, maximum: 43200}
  connection: {url: status.atProvider.url, arn: status.atProvider.arn}
Table:
  base:
    apiVersion: dynamodb.aws.upbound.io/v1beta2
    kind: Table
    spec:
      providerConfigRef: {name: {{ .Values.providerConfig | quote }}}
      forProvider:
        region: {{ .Values.region | quote }}
        billingMode: PAY_PER_REQUEST
  required: [attribute, hashKey]
  fields:
    attribute:
      type: array
      minItems: 1
      items: {type: object, required: [name, type], properties: {name: {type: string}, type: {type: string, enum: [S, N, B]}}}
    hashKey: {type: string}
    rangeKey: {type: string}
    deletionProtectionEnabled: {type: boolean}
  connection: {name: status.atProvider.id, arn: status.atProvider.arn}
Database:
  base:
    apiVersion: rds.aws.upbound.io/v1beta3
    kind: Instance
    spec:
      providerConfigRef: {name: {{ .Values.providerConfig | quote }}}
      forProvider:
        region: {{ .Values.region | quote }}
        {{- with .Values.databaseSubnets }}
        dbSubnetGroupName: {{ . | quote }}
        {{- end }}
        # RDS makes the password and keeps it in Secrets Manager.
        manageMasterUserPassword: true
        username: app
        storageEncrypted: true
        publiclyAccessible: false
        skipFinalSnapshot: true
  required: [engine, instanceClass, allocatedStorage]
  fields:
    engine: {type: string, enum: [postgres, mysql, mariadb]}
    engineVersion: {type: string}
    instanceClass: {type: string}
    allocatedStorage: {type: integer, minimum: 20}
    dbName: {type: string}
    deletionProtection: {type: boolean}
  connection: {address: status.atProvider.address, endpoint: status.atProvider.endpoint, arn: status.atProvider.arn, passwordSecretARN: "status.atProvider.masterUserSecret[0].secretArn"}
{{- end -}}
