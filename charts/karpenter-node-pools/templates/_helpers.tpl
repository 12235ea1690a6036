{{/* Booleans of the values may be written as the strings "true" and "false": "true" or nothing. */}}
{{- define "karpenter-node-pools.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end -}}

{{/* What is switched on of a map, as JSON. */}}
{{- define "karpenter-node-pools.enabled" -}}
{{- $all := dict -}}
{{- range $name, $entry := . -}}
{{- if and (not (kindIs "invalid" $entry)) (include "karpenter-node-pools.bool" (hasKey $entry "enabled" | ternary $entry.enabled true)) -}}
{{- $_ := set $all $name $entry -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Labels and annotations of an object; the node class's own, if given. */}}
{{- define "karpenter-node-pools.metadata" -}}
labels:
  {{- merge (dict
        "app.kubernetes.io/name" "karpenter-node-pools"
        "app.kubernetes.io/instance" (.root.Release.Name | trunc 63 | trimSuffix "-")
        "app.kubernetes.io/managed-by" .root.Release.Service
        "app.kubernetes.io/part-of" "argosy"
        "helm.sh/chart" (printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_"))
      ) (.labels | default dict) .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Quantities may be written as numbers, which Helm reads as floats. */}}
{{- define "karpenter-node-pools.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{/* Everything about the values that a schema cannot say, or not say well. */}}
{{- define "karpenter-node-pools.validate" -}}
{{- $classes := include "karpenter-node-pools.enabled" .Values.nodeClasses | fromJson -}}
{{- range $name, $class := $classes -}}
{{- if and $class.role $class.instanceProfile -}}
{{- fail (printf "nodeClasses.%s: role and instanceProfile contradict each other" $name) -}}
{{- end -}}
{{- if and (not $.Values.clusterName) (not (and (or $class.role $class.instanceProfile) $class.subnetSelectorTerms $class.securityGroupSelectorTerms)) -}}
{{- fail (printf "clusterName is required: nodeClasses.%s finds its role, subnets or security groups by it" $name) -}}
{{- end -}}
{{- if not $class.amiSelectorTerms -}}
{{- fail (printf "nodeClasses.%s.amiSelectorTerms is required: the nodes' images, as [{alias: al2023@latest}]" $name) -}}
{{- end -}}
{{- range $class.amiSelectorTerms -}}
{{- if and .alias (gt (len $class.amiSelectorTerms) 1) -}}
{{- fail (printf "nodeClasses.%s.amiSelectorTerms: an alias stands alone, found %d terms" $name (len $class.amiSelectorTerms)) -}}
{{- end -}}
{{- if and (not .alias) (not $class.amiFamily) -}}
{{- fail (printf "nodeClasses.%s.amiFamily is required: only an alias implies it" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $pool := include "karpenter-node-pools.enabled" .Values.nodePools | fromJson -}}
{{- if and $pool.nodeClass $pool.nodeClassRef -}}
{{- fail (printf "nodePools.%s: nodeClass and nodeClassRef contradict each other" $name) -}}
{{- end -}}
{{- $class := $pool.nodeClass | default "default" -}}
{{- if and (not $pool.nodeClassRef) (not (hasKey $classes $class)) -}}
{{- fail (printf "nodePools.%s.nodeClass: no node class %q; there are: %s (nodeClassRef names one made elsewhere)" $name $class (keys $classes | sortAlpha | join ", " | default "none")) -}}
{{- end -}}
{{- if not $pool.requirements -}}
{{- fail (printf "nodePools.%s.requirements is required: which instances the pool may take" $name) -}}
{{- end -}}
{{- range $i, $requirement := $pool.requirements -}}
{{- $at := printf "nodePools.%s.requirements[%d] (%s)" $name $i $requirement.key -}}
{{- $count := len ($requirement.values | default list) -}}
{{- if and (has $requirement.operator (list "In" "NotIn")) (eq $count 0) -}}
{{- fail (printf "%s: %s needs values" $at $requirement.operator) -}}
{{- else if and (has $requirement.operator (list "Exists" "DoesNotExist")) (gt $count 0) -}}
{{- fail (printf "%s: %s takes no values" $at $requirement.operator) -}}
{{- else if and (has $requirement.operator (list "Gt" "Lt")) (or (ne $count 1) (not (regexMatch "^[0-9]+$" (first (append ($requirement.values | default list) ""))))) -}}
{{- fail (printf "%s: %s takes one whole number, as values: [\"5\"]" $at $requirement.operator) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
