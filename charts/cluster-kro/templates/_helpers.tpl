{{/* cluster-kro.metadata: {root, name, annotations} -> metadata of an object. */}}
{{- define "cluster-kro.metadata" -}}
{{- $root := .root -}}
name: {{ .name | quote }}
labels:
  {{- merge (dict
        "app.kubernetes.io/name" "cluster-kro"
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

{{/* cluster-kro.checked: fails where something of the part is missing. */}}
{{- define "cluster-kro.checked" -}}
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
{{- $own := printf "%s-token" $v.clusterName -}}
{{- if and $v.inputs.tokenSecret (ne $v.inputs.tokenSecret $own) }}{{ fail (printf "inputs.tokenSecret: %q is not this cluster's own: a tenant's values could name the Secret of another one, and its token would be sent to this cluster: name it %s" $v.inputs.tokenSecret $own) }}{{ end -}}
{{- end -}}
{{- end -}}


{{/* cluster-kro.kubeconfig: a user as JSON -> the kubeconfig, in kro's expressions. */}}
{{- define "cluster-kro.kubeconfig" -}}
{"apiVersion":"v1","kind":"Config","current-context":"cluster","contexts":[{"name":"cluster","context":{"cluster":"cluster","user":"hub"}}],"clusters":[{"name":"cluster","cluster":{"server":"${cluster.status.endpoint}","certificate-authority-data":"${cluster.status.certificateAuthority.data}"}}],"users":[{"name":"hub","user":{{ . }}}]}
{{- end -}}
