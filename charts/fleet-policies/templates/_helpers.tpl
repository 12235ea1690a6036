{{- define "fleet-policies.metadata" -}}
labels:
  {{- merge (dict
        "app.kubernetes.io/name" "fleet-policies"
        "app.kubernetes.io/instance" (.Release.Name | trunc 63 | trimSuffix "-")
        "app.kubernetes.io/managed-by" .Release.Service
        "app.kubernetes.io/part-of" "argosy"
        "helm.sh/chart" (printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_"))
      ) .Values.commonLabels | toYaml | nindent 2 }}
{{- with .Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The forms of a text inside a base64 text, as a regular expression: by where it begins, without the characters that depend
on what stands before and behind it. Letters count in both cases, as they do to who reads the keys (Go's encoding/json): the case is
one bit, which is in one character of the three forms each. */}}
{{- define "fleet-policies.encoded" -}}
{{- $out := list -}}
{{- range $before := list "" "x" "xx" -}}
{{- $lower := printf "%s%s" $before (lower $.text) | b64enc -}}
{{- $upper := printf "%s%s" $before (upper $.text) | b64enc -}}
{{- $from := index (list 0 2 3) (len $before) -}}
{{- $to := div (mul (add (len $before) (len $.text)) 8) 6 | int -}}
{{- $form := "" -}}
{{- range $i := untilStep $from $to 1 -}}
{{- $one := substr $i (int (add1 $i)) $lower -}}
{{- $other := substr $i (int (add1 $i)) $upper -}}
{{- $form = printf "%s%s" $form (eq $one $other | ternary $one (printf "[%s%s]" $one $other)) -}}
{{- end -}}
{{- $out = append $out $form -}}
{{- end -}}
{{- join "|" $out -}}
{{- end -}}

{{/* A CEL expression: the variable `config`, which is base64, holds the key. */}}
{{- define "fleet-policies.holds" -}}
variables.config.matches('{{ include "fleet-policies.encoded" (dict "text" (printf "\"%s\"" .)) }}')
{{- end -}}

{{/* A CEL expression: the variable `config` names no program, or names one of a list, once. The text goes on behind the program's
name, so that no longer name begins with it. */}}
{{- define "fleet-policies.commands" -}}
{{- $key := include "fleet-policies.encoded" (dict "text" "\"command\"") -}}
{{- $any := list -}}
{{- range $command := . -}}
{{- range $form := list "\"command\":\"%s\"," "\"command\":\"%s\"}" "\"command\": \"%s\"," "\"command\": \"%s\"}" -}}
{{- $any = append $any (include "fleet-policies.encoded" (dict "text" (printf $form $command))) -}}
{{- end -}}
{{- end -}}
!variables.config.matches('{{ $key }}')
{{- if $any }} || !variables.config.matches('({{ $key }}).*({{ $key }})') && variables.config.matches('{{ join "|" $any }}'){{ end }}
{{- end -}}

{{/* Regular expressions over groups of four base64 characters, which are three bytes: one of the bytes is a backslash (0x5c), or has
the highest bit. */}}
{{- define "fleet-policies.escape" -}}
^(.{4})*(X[A-P]|.[FVl1][w-z]|..[BFJNRVZdhlptx159]c)
{{- end -}}
{{- define "fleet-policies.beyondASCII" -}}
^(.{4})*([g-z0-9+/]|.[I-PY-fo-v4-9+/]|..[CDGHKLOPSTWXabefijmnqruvyz2367+/])
{{- end -}}

{{/* A slash (0x2f) at the end of a base64 text, by how many bytes its last group has: one, two or three. */}}
{{- define "fleet-policies.slash" -}}
(Lw==|[CSiy]8=|[AEIMQUYcgkosw048]v)$
{{- end -}}

{{/* A text at the beginning of a base64 text, as a regular expression. The last character may hold bits of what follows. */}}
{{- define "fleet-policies.beginning" -}}
{{- $encoded := b64enc . | trimSuffix "=" | trimSuffix "=" -}}
{{- $part := mod (len .) 3 | int -}}
{{- $whole := eq $part 0 | ternary (len $encoded) (sub (len $encoded) 1) | int -}}
{{- $last := substr $whole (len $encoded) $encoded -}}
{{- $sixteen := dict "A" "A-P" "Q" "Q-Za-f" "g" "g-v" "w" "w-z0-9+/" -}}
{{- $four := dict "A" "A-D" "E" "E-H" "I" "I-L" "M" "M-P" "Q" "Q-T" "U" "U-X" "Y" "YZab" "c" "c-f" "g" "g-j" "k" "k-n" "o" "o-r" "s" "s-v" "w" "w-z" "0" "0-3" "4" "4-7" "8" "89+/" -}}
{{- $class := "" -}}
{{- if eq $part 1 }}{{ $class = printf "[%s]" (get $sixteen $last) }}{{ else if eq $part 2 }}{{ $class = printf "[%s]" (get $four $last) }}{{ end -}}
{{- substr 0 $whole $encoded | replace "+" "[+]" }}{{ $class -}}
{{- end -}}

{{/* Twelve digits in base64, where a group of four characters begins. */}}
{{- define "fleet-policies.account" -}}
(([MN][DTjz]|O[DT])[AEIMQUYcgk][w-z0-5]){4}
{{- end -}}

{{/* What the presets add, as JSON: hosts and addresses that are allowed (restricted: those alone), keys of config that are forbidden,
and demands on repositories with the preset's name. */}}
{{- define "fleet-policies.effective" -}}
{{- $all := .Files.Get "presets.yaml" | fromYaml -}}
{{- $hosts := .Values.repositories.hosts | default list -}}
{{- $addresses := .Values.repositories.addresses | default list -}}
{{- $forbidden := .Values.clusterSecrets.forbidden | default list -}}
{{- $restricted := gt (add (len $hosts) (len $addresses)) 0 -}}
{{- $demands := list -}}
{{- $region := "" -}}
{{- range $name := .Values.presets | default list -}}
{{- $preset := get $all $name -}}
{{- $forbidden = concat $forbidden ($preset.forbidden | default list) -}}
{{- if $preset.hosts -}}
{{- $restricted = true -}}
{{- range $.Values.fleet.repositories }}{{ if . }}{{ $hosts = append $hosts (regexReplaceAll "^(?:[a-z+]+://)?(?:[^/@]*@)?([a-z0-9][-a-z0-9.]*(?::[0-9]+)?)(?:[/:].*)?$" . "${1}") }}{{ end }}{{ end -}}
{{- end -}}
{{- if $preset.addresses -}}
{{- $region = $.Values.fleet.region | required "fleet.region is required by the preset one-region" -}}
{{- $restricted = true -}}
{{- range $preset.addresses }}{{ $addresses = append $addresses (replace "{region}" $region .) }}{{ end -}}
{{- end -}}
{{- if $preset.credentials }}{{ $demands = append $demands (dict "preset" $name "credentials" $preset.credentials "beginnings" $preset.beginnings) }}{{ end -}}
{{- end -}}
{{- range ternary (concat $hosts $addresses) list (ne $region "") -}}
{{- if and (contains ".amazonaws.com" .) (not (contains (printf ".%s.amazonaws.com" $region) .)) -}}
{{- fail (printf "%s is a host of AWS in another region than fleet.region %s, which the preset one-region allows" . $region) -}}
{{- end -}}
{{- end -}}
{{- dict "hosts" (uniq $hosts) "addresses" (uniq $addresses) "restricted" $restricted "forbidden" (uniq $forbidden) "demands" $demands | toJson -}}
{{- end -}}

{{/* Credentials that are not in a list, as JSON. */}}
{{- define "fleet-policies.otherCredentials" -}}
{{- $others := list -}}
{{- range list "password" "bearerToken" "sshPrivateKey" "tlsClientCertKey" "githubAppPrivateKey" "gcpServiceAccountKey" "useAzureWorkloadIdentity" -}}
{{- if not (has . $) }}{{ $others = append $others . }}{{ end -}}
{{- end -}}
{{- toJson $others -}}
{{- end -}}

{{/* The addresses below the allowed hosts, and those that are allowed as they are, as one regular expression. */}}
{{- define "fleet-policies.addresses" -}}
{{- $out := list -}}
{{- range .hosts -}}
{{- $forms := list (printf "https://%s/" .) -}}
{{- if not $.web -}}
{{- $forms = concat $forms (list (printf "ssh://git@%s/" .) (printf "oci://%s/" .) (printf "%s/" .)) -}}
{{- if not (contains ":" .) }}{{ $forms = append $forms (printf "git@%s:" .) }}{{ end -}}
{{- end -}}
{{- range $forms }}{{ $out = append $out (include "fleet-policies.beginning" .) }}{{ end -}}
{{- end -}}
{{- range .addresses -}}
{{- if contains "{account}" . -}}
{{- $parts := splitList "{account}" . -}}
{{- $out = append $out (printf "%s%s%s" (b64enc (first $parts)) (include "fleet-policies.account" $) (include "fleet-policies.beginning" (last $parts))) -}}
{{- else }}{{ $out = append $out (include "fleet-policies.beginning" .) }}{{ end -}}
{{- end -}}
{{- if not $out }}{{ $out = list "[^A-Za-z0-9+/=]" }}{{ end -}}
^({{ join "|" $out }})
{{- end -}}
