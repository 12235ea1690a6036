{{/* Booleans of the values may be written as the strings "true" and "false": "true" or nothing. */}}
{{- define "argocd-ingress.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end -}}

{{- define "argocd-ingress.name" -}}
{{- .Release.Name | trunc 58 | trimSuffix "-" -}}
{{- end -}}

{{/* argocd-ingress.metadata: {root, suffix, annotations} -> metadata of an object. */}}
{{- define "argocd-ingress.metadata" -}}
{{- $labels := dict
      "app.kubernetes.io/name" "argocd-ingress"
      "app.kubernetes.io/instance" (.root.Release.Name | trunc 63 | trimSuffix "-")
      "app.kubernetes.io/managed-by" .root.Release.Service
      "app.kubernetes.io/part-of" "argosy"
      "helm.sh/chart" (printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_")) -}}
name: {{ printf "%s%s" (include "argocd-ingress.name" .root) .suffix | quote }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- toYaml (merge $labels .root.Values.commonLabels) | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Whether gRPC goes to a Service of its own, which tells the load balancer or Gateway what it speaks. */}}
{{- define "argocd-ingress.grpcService" -}}
{{- $v := .Values -}}
{{- if and (include "argocd-ingress.bool" $v.grpc.enabled) (or (eq $v.type "gateway") (eq $v.ingress.controller "aws")) }}true{{ end -}}
{{- end -}}

{{/* Whether the Ingress for grpc.host is one of its own: elsewhere one Ingress has one backend protocol. */}}
{{- define "argocd-ingress.grpcIngress" -}}
{{- if and (include "argocd-ingress.bool" .Values.grpc.enabled) .Values.grpc.host (ne .Values.ingress.controller "aws") }}true{{ end -}}
{{- end -}}

{{/* Port of the server's Service. */}}
{{- define "argocd-ingress.port" -}}
{{- if include "argocd-ingress.bool" .Values.server.insecure }}{{ int .Values.server.httpPort }}{{ else }}{{ int .Values.server.httpsPort }}{{ end -}}
{{- end -}}

{{/* argocd-ingress.annotations: {root, grpc} -> annotations of an Ingress, as JSON: those of its controller, then the
values' own. */}}
{{- define "argocd-ingress.annotations" -}}
{{- $v := .root.Values -}}
{{- $insecure := eq (include "argocd-ingress.bool" $v.server.insecure) "true" -}}
{{- $all := dict -}}
{{- if eq $v.ingress.controller "aws" -}}
  {{- $_ := set $all "alb.ingress.kubernetes.io/scheme" $v.aws.scheme -}}
  {{- $_ := set $all "alb.ingress.kubernetes.io/target-type" $v.aws.targetType -}}
  {{- $_ := set $all "alb.ingress.kubernetes.io/backend-protocol" ($insecure | ternary "HTTP" "HTTPS") -}}
  {{- if include "argocd-ingress.bool" $v.tls.enabled -}}
    {{- $_ := set $all "alb.ingress.kubernetes.io/listen-ports" `[{"HTTPS":443}]` -}}
    {{- with $v.aws.certificateArn }}{{ $_ := set $all "alb.ingress.kubernetes.io/certificate-arn" . }}{{ end -}}
  {{- end -}}
  {{- with $v.aws.groupName }}{{ $_ := set $all "alb.ingress.kubernetes.io/group.name" . }}{{ end -}}
  {{- if and (include "argocd-ingress.grpcService" .root) (not $v.grpc.host) -}}
    {{- /* the name after the dot is the Service's: the condition holds for every rule that goes to it */}}
    {{- $_ := set $all (printf "alb.ingress.kubernetes.io/conditions.%s-grpc" (include "argocd-ingress.name" .root)) `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"Content-Type","values":["application/grpc"]}}]` -}}
  {{- end -}}
{{- else if eq $v.ingress.controller "nginx" -}}
  {{- if include "argocd-ingress.bool" $v.tls.enabled }}{{ $_ := set $all "nginx.ingress.kubernetes.io/force-ssl-redirect" "true" }}{{ end -}}
  {{- if include "argocd-ingress.bool" $v.nginx.sslPassthrough -}}
    {{- $_ := set $all "nginx.ingress.kubernetes.io/ssl-passthrough" "true" -}}
  {{- end -}}
  {{- $protocol := .grpc | ternary "GRPC" "HTTP" -}}
  {{- $_ := set $all "nginx.ingress.kubernetes.io/backend-protocol" ($insecure | ternary $protocol (printf "%sS" $protocol)) -}}
{{- end -}}
{{- with $v.tls.clusterIssuer }}{{ $_ := set $all "cert-manager.io/cluster-issuer" . }}{{ end -}}
{{- range $k, $w := $v.ingress.annotations }}{{ $_ := set $all $k $w }}{{ end -}}
{{- if .grpc }}{{ range $k, $w := $v.ingress.grpcAnnotations }}{{ $_ := set $all $k $w }}{{ end }}{{ end -}}
{{- toJson $all -}}
{{- end -}}

{{/* argocd-ingress.path: {service, port, path} -> one path of an Ingress. */}}
{{- define "argocd-ingress.path" -}}
- path: {{ .path | quote }}
  pathType: Prefix
  backend:
    service:
      name: {{ .service | quote }}
      port:
        number: {{ .port }}
{{- end -}}

{{/* Everything about the values that a schema cannot say, or not say well. */}}
{{- define "argocd-ingress.validate" -}}
{{- $v := .Values -}}
{{- $grpc := include "argocd-ingress.bool" $v.grpc.enabled -}}
{{- $insecure := include "argocd-ingress.bool" $v.server.insecure -}}
{{- $tls := include "argocd-ingress.bool" $v.tls.enabled -}}
{{- $passthrough := include "argocd-ingress.bool" $v.nginx.sslPassthrough -}}
{{- $nginx := and (eq $v.type "ingress") (eq $v.ingress.controller "nginx") -}}
{{- if not $v.host -}}
{{- fail "host is required: the name under which people reach this Argo CD, as argocd.example.com" -}}
{{- end -}}
{{- if eq $v.host $v.grpc.host -}}
{{- fail (printf "grpc.host: %q is host, too: leave it empty, or name another" $v.host) -}}
{{- end -}}
{{- if and (not $grpc) $v.grpc.host -}}
{{- fail "grpc.host has no effect with grpc.enabled: false" -}}
{{- end -}}
{{- if has $v.host $v.extraHosts -}}
{{- fail (printf "extraHosts: %q is host already" $v.host) -}}
{{- end -}}
{{- if and $v.grpc.host (has $v.grpc.host $v.extraHosts) -}}
{{- fail (printf "extraHosts: %q is grpc.host already" $v.grpc.host) -}}
{{- end -}}
{{- if and $grpc (ne $v.path "/") -}}
{{- fail (printf "path: %q: gRPC has no path; set grpc.enabled: false, and log in with argocd login --grpc-web-root-path" $v.path) -}}
{{- end -}}
{{- if and $v.tls.clusterIssuer (not $v.tls.secretName) -}}
{{- fail "tls.secretName is required with tls.clusterIssuer: the Secret that cert-manager writes" -}}
{{- end -}}
{{- if and (include "argocd-ingress.grpcIngress" .) $v.tls.secretName (not $v.tls.grpcSecretName) (eq $v.type "ingress") -}}
{{- fail "tls.grpcSecretName is required: grpc.host has a certificate of its own" -}}
{{- end -}}
{{- if and (not $tls) (or $v.tls.secretName $v.tls.grpcSecretName) -}}
{{- fail "tls.secretName has no effect with tls.enabled: false" -}}
{{- end -}}
{{- if and $v.tls.grpcSecretName (eq $v.tls.secretName $v.tls.grpcSecretName) -}}
{{- fail "tls.grpcSecretName: is tls.secretName, too; controllers mix up hosts that share a certificate" -}}
{{- end -}}
{{- if and $nginx $grpc (not $v.grpc.host) (not $passthrough) -}}
{{- fail "grpc.host is required with ingress.controller: nginx: an Ingress has one backend protocol there (or grpc.enabled: false, or nginx.sslPassthrough: true)" -}}
{{- end -}}
{{- if $passthrough -}}
{{- if not $nginx -}}
{{- fail "nginx.sslPassthrough has an effect with ingress.controller: nginx only" -}}
{{- end -}}
{{- if or $insecure $v.grpc.host (not $tls) -}}
{{- fail "nginx.sslPassthrough needs server.insecure: false and tls.enabled: true, and no grpc.host: the server ends TLS and tells gRPC by itself" -}}
{{- end -}}
{{- end -}}
{{- if eq $v.type "gateway" -}}
{{- if not $v.gateway.parentRefs -}}
{{- fail "gateway.parentRefs is required with type: gateway: the Gateways that the routes attach to" -}}
{{- end -}}
{{- if not $insecure -}}
{{- fail "server.insecure: false: a route reaches its backends without TLS; end TLS at the Gateway" -}}
{{- end -}}
{{- if or $v.tls.secretName $v.tls.grpcSecretName $v.tls.clusterIssuer -}}
{{- fail "tls.secretName has no effect with type: gateway: the Gateway's listener has the certificate" -}}
{{- end -}}
{{- else if $v.gateway.parentRefs -}}
{{- fail "gateway.parentRefs has an effect with type: gateway only" -}}
{{- end -}}
{{- end -}}
