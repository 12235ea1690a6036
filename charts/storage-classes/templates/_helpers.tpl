{{/* Booleans of the values may be written as the strings "true" and "false": "true" or nothing. */}}
{{- define "storage-classes.bool" -}}
{{- if eq (toString .) "true" }}true{{ end -}}
{{- end -}}

{{/* A parameter's text: drivers take strings, and Helm reads numbers as floats. */}}
{{- define "storage-classes.text" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{/* The classes that are switched on, with their drivers' defaults, as JSON. */}}
{{- define "storage-classes.all" -}}
{{- $drivers := dict
      "ebs.csi.aws.com" (dict "volumeBindingMode" "WaitForFirstConsumer" "allowVolumeExpansion" true "parameters" (dict "type" "gp3" "encrypted" "true"))
      "efs.csi.aws.com" (dict "volumeBindingMode" "Immediate" "allowVolumeExpansion" false "parameters" (dict "provisioningMode" "efs-ap" "directoryPerms" "700")) -}}
{{- $any := dict "volumeBindingMode" "WaitForFirstConsumer" "allowVolumeExpansion" false "parameters" dict -}}
{{- $all := dict -}}
{{- $defaults := list -}}
{{- range $name, $class := .Values.storageClasses -}}
{{- if and (not (kindIs "invalid" $class)) (include "storage-classes.bool" (hasKey $class "enabled" | ternary $class.enabled true)) -}}
{{- if not $class.provisioner -}}
{{- fail (printf "storageClasses.%s.provisioner is required: the driver, as ebs.csi.aws.com" $name) -}}
{{- end -}}
{{- $driver := deepCopy (get $drivers $class.provisioner | default $any) -}}
{{- /* the class wins, also with false */ -}}
{{- $result := mergeOverwrite $driver (dict "reclaimPolicy" "Delete") $class -}}
{{- if and (eq $class.provisioner "efs.csi.aws.com") (eq $result.parameters.provisioningMode "efs-ap") (not $result.parameters.fileSystemId) -}}
{{- fail (printf "storageClasses.%s.parameters.fileSystemId is required: the EFS file system to make access points in" $name) -}}
{{- end -}}
{{- if and (eq $class.provisioner "ebs.csi.aws.com") (has $result.parameters.type (list "io1" "io2")) (not (or $result.parameters.iops $result.parameters.iopsPerGB)) -}}
{{- fail (printf "storageClasses.%s.parameters: volumes of type %s need iops or iopsPerGB" $name $result.parameters.type) -}}
{{- end -}}
{{- if and $result.parameters.iops $result.parameters.iopsPerGB -}}
{{- fail (printf "storageClasses.%s.parameters: iops and iopsPerGB contradict each other" $name) -}}
{{- end -}}
{{- if include "storage-classes.bool" $class.default -}}
{{- $defaults = append $defaults $name -}}
{{- end -}}
{{- $_ := set $all $name $result -}}
{{- end -}}
{{- end -}}
{{- if gt (len $defaults) 1 -}}
{{- fail (printf "storageClasses: a cluster has one default class, found %d: %s" (len $defaults) (join ", " $defaults)) -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}
