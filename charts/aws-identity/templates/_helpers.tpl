{{/* Booleans of the values may be written as the strings "true" and "false": "true" or nothing. */}}
{{- define "aws-identity.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end -}}

{{/* aws-identity.checked: fails where the identity is switched on and something is missing; "true" or nothing. */}}
{{- define "aws-identity.checked" -}}
{{- if include "aws-identity.bool" .Values.enabled -}}
{{- $v := .Values -}}
{{- if not $v.clusterName }}{{ fail "clusterName is required: the cluster's name in EKS" }}{{ end -}}
{{- if not $v.serviceAccount.name }}{{ fail "serviceAccount.name is required: the ServiceAccount that gets the role" }}{{ end -}}
{{- if eq $v.type "irsa" -}}
{{- if not $v.oidc.issuer }}{{ fail "oidc.issuer is required for type irsa: the cluster's OIDC issuer" }}{{ end -}}
{{- if not $v.accountId }}{{ fail "accountId is required for type irsa: the account of the OIDC provider" }}{{ end -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{- define "aws-identity.namespace" -}}
{{- .Values.serviceAccount.namespace | default .Release.Namespace -}}
{{- end -}}

{{- define "aws-identity.roleName" -}}
{{- $name := .Values.role.name | default (printf "%s-%s" .Values.clusterName .Values.serviceAccount.name) -}}
{{- if gt (len $name) 64 }}{{ fail (printf "role.name: %q has %d characters, IAM takes 64: set role.name" $name (len $name)) }}{{ end -}}
{{- $name -}}
{{- end -}}

{{- define "aws-identity.roleARN" -}}
{{- .Values.role.arn | default (printf "arn:%s:iam::%s:role/%s" .Values.partition .Values.accountId (include "aws-identity.roleName" .)) -}}
{{- end -}}

{{/* aws-identity.objectName: the Role and the association in Kubernetes. */}}
{{- define "aws-identity.objectName" -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* aws-identity.trust: who may assume the role, as JSON. */}}
{{- define "aws-identity.trust" -}}
{{- $statement := dict "Effect" "Allow" -}}
{{- if eq .Values.type "irsa" -}}
{{- $issuer := trimSuffix "/" (trimPrefix "https://" .Values.oidc.issuer) -}}
{{- $subject := printf "system:serviceaccount:%s:%s" (include "aws-identity.namespace" .) .Values.serviceAccount.name -}}
{{- $_ := set $statement "Action" (list "sts:AssumeRoleWithWebIdentity") -}}
{{- $_ = set $statement "Principal" (dict "Federated" (printf "arn:%s:iam::%s:oidc-provider/%s" .Values.partition .Values.accountId $issuer)) -}}
{{- $_ = set $statement "Condition" (dict "StringEquals" (dict (printf "%s:sub" $issuer) $subject (printf "%s:aud" $issuer) .Values.oidc.audience)) -}}
{{- else -}}
{{- $_ := set $statement "Action" (list "sts:AssumeRole" "sts:TagSession") -}}
{{- $_ = set $statement "Principal" (dict "Service" "pods.eks.amazonaws.com") -}}
{{- with .Values.accountId -}}
{{- $_ = set $statement "Condition" (dict "StringEquals" (dict "aws:SourceAccount" .)) -}}
{{- end -}}
{{- end -}}
{{- dict "Version" "2012-10-17" "Statement" (list $statement) | toJson -}}
{{- end -}}

{{/* aws-identity.metadata: {root, name, namespace, annotations} -> metadata of an object. */}}
{{- define "aws-identity.metadata" -}}
{{- $root := .root -}}
name: {{ .name | quote }}
namespace: {{ .namespace | quote }}
labels:
  {{- merge (dict
        "app.kubernetes.io/name" "aws-identity"
        "app.kubernetes.io/instance" ($root.Release.Name | trunc 63 | trimSuffix "-")
        "app.kubernetes.io/managed-by" $root.Release.Service
        "app.kubernetes.io/part-of" "argosy"
        "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_"))
      ) $root.Values.commonLabels | toYaml | nindent 2 }}
annotations:
  {{- merge .annotations $root.Values.commonAnnotations | toYaml | nindent 2 }}
{{- end -}}
