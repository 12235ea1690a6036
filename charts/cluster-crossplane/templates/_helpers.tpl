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
{{- if not $v.part }}{{ fail "part is required: definitions, controlPlane or nodes" }}{{ end -}}
{{- if ne $v.part "definitions" -}}
{{- $needed := dict "clusterName" $v.clusterName "version" $v.version "region" $v.region "inputs.subnetIDs" $v.inputs.subnetIDs -}}
{{- if eq $v.part "nodes" -}}
{{- $_ := set $needed "nodes.version" $v.nodes.version -}}
{{- $_ := set $needed "inputs.nodeRoleARN" $v.inputs.nodeRoleARN -}}
{{- else -}}
{{- $_ := set $needed "inputs.roleARN" $v.inputs.roleARN -}}
{{- end -}}
{{- range $key, $value := $needed }}{{ if not $value }}{{ fail (printf "%s is required for part %s" $key $v.part) }}{{ end }}{{ end -}}
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

{{/* cluster-crossplane.patches: the patches that all resources have. */}}
{{- define "cluster-crossplane.patches" -}}
- {type: FromCompositeFieldPath, fromFieldPath: metadata.name, toFieldPath: metadata.name}
- {type: FromCompositeFieldPath, fromFieldPath: spec.region, toFieldPath: spec.forProvider.region}
- {type: FromCompositeFieldPath, fromFieldPath: spec.deletionPolicy, toFieldPath: spec.deletionPolicy}
- {type: FromCompositeFieldPath, fromFieldPath: spec.providerConfig, toFieldPath: spec.providerConfigRef.name}
{{- end -}}
