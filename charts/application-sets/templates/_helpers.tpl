{{/*
application-sets.merge: {base, over} -> YAML of over merged over base. Maps merge deeply,
everything else replaces, null removes. Sprig's mergeOverwrite cannot be used: it keeps the
base where over has false or an empty list.
*/}}
{{- define "application-sets.merge" -}}
{{- $out := dict -}}
{{- range $k, $v := .base }}{{ $_ := set $out $k $v }}{{ end -}}
{{- range $k, $v := .over -}}
  {{- if kindIs "invalid" $v -}}
    {{- $_ := unset $out $k -}}
  {{- else if and (kindIs "map" $v) (kindIs "map" (get $out $k)) -}}
    {{- $_ := set $out $k (include "application-sets.merge" (dict "base" (get $out $k) "over" $v) | fromYaml) -}}
  {{- else -}}
    {{- $_ := set $out $k $v -}}
  {{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end }}

{{/* application-sets.enabled: "true" or nothing; takes booleans and the strings of Terraform and labels. */}}
{{- define "application-sets.enabled" -}}
{{- if eq (toString .enabled) "true" }}true{{ end -}}
{{- end }}

{{/*
application-sets.listed: "true" or nothing; the plugin switches on what levels of the hierarchy
have, of which this release's catalog may know nothing.
*/}}
{{- define "application-sets.listed" -}}
{{- if gt (len .declared) 1 }}true
{{- if not (or .plugin .declared.namespace (eq (.declared.kind | default "chart") "manifests")) }}{{ fail (printf "components.%s: namespace is required" .component) }}{{ end }}
{{- range $key := list "namespace" "releaseName" }}
{{- if and (not $.plugin) (contains "{{" (toString (get $.declared $key))) }}{{ fail (printf "components.%s: %s is a template, which takes the plugin" $.component $key) }}{{ end }}
{{- end }}
{{- else if not .plugin }}{{ fail (printf "components.%s: chart is required" .component) }}
{{- end -}}
{{- end }}

{{/* application-sets.name: a DNS-1123 name of at most 63 characters, with a hash of the full text where that is none. */}}
{{- define "application-sets.name" -}}
{{- $prefix := .root.Values.namePrefix | default (printf "%s-%s" .root.Values.group .root.Values.release) -}}
{{- $full := printf "%s-%s" $prefix .component -}}
{{- $slug := regexReplaceAll "[^a-z0-9-]+" (lower $full) "-" | trimAll "-" -}}
{{- if and (eq $slug $full) (le (len $slug) 63) -}}
{{- $slug -}}
{{- else -}}
{{- printf "%s-%s" (regexReplaceAll "-+$" ($slug | trunc 54) "") (sha256sum $full | trunc 8) -}}
{{- end -}}
{{- end }}

{{/* application-sets.labels: labels of the ApplicationSet; a release is a label value already. */}}
{{- define "application-sets.labels" -}}
{{- $own := dict "argosy.dev/group" .root.Values.group "argosy.dev/release" .root.Values.release "argosy.dev/component" .component -}}
{{- include "application-sets.merge" (dict "base" $own "over" (.entry.applicationSet.labels | default dict)) -}}
{{- end }}

{{/* application-sets.applicationLabels: labels of the Applications; rollout steps and people select by them. */}}
{{- define "application-sets.applicationLabels" -}}
{{- $facts := ternary "" ".metadata.labels" .plugin -}}
{{- $own := dict "argosy.dev/group" .root.Values.group "argosy.dev/release" .root.Values.release "argosy.dev/component" .component -}}
{{- $_ := set $own "argosy.dev/cluster" "{{ .name }}" -}}
{{- $_ := set $own "argosy.dev/tenant" (printf "{{ %s.tenant }}" $facts) -}}
{{- $_ := set $own "argosy.dev/environment" (printf "{{ %s.environment }}" $facts) -}}
{{- include "application-sets.merge" (dict "base" $own "over" (.entry.labels | default dict)) -}}
{{- end }}

{{/*
application-sets.applicationAnnotations: annotations of the Applications. By the digest of the
parameter set the plugin knows which one an Application has, and whether it is healthy with it.
*/}}
{{- define "application-sets.applicationAnnotations" -}}
{{- $own := ternary (dict "argosy.dev/digest" "{{ .digest }}") dict .plugin -}}
{{- $all := include "application-sets.merge" (dict "base" $own "over" (.entry.annotations | default dict)) | fromYaml -}}
{{- with $all }}{{ toYaml . }}{{ end -}}
{{- end }}

{{/*
application-sets.metadata: the Application's metadata from its parameter set: `deletion: cascade`
brings the cascading finalizer (D1), and `hold` an annotation with the reason of a hold. Takes
{metadata}: the metadata of the component's own patch, nothing if it has none. A key without a value
would remove the template's, so each is written only where something follows.
*/}}
{{- define "application-sets.metadata" -}}
{{- $own := .metadata | default dict -}}
{{- $annotations := $own.annotations | default dict -}}
{{- if $own -}}
metadata:
{{- with omit $own "annotations" }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- else -}}
{{ `{{- if or (eq .deletion "cascade") (get . "hold") }}` }}
metadata:
{{ `{{- end }}` }}
{{- end }}
{{- if not (hasKey $annotations "argosy.dev/hold") }}
{{ `{{- with get . "hold" }}` }}
{{- if not $annotations }}
  annotations:
{{- end }}
    argosy.dev/hold: {{ `{{ quote . }}` }}
{{ `{{- end }}` }}
{{- end }}
{{ `{{- if eq .deletion "cascade" }}` }}
  finalizers:
    - resources-finalizer.argocd.argoproj.io
{{ `{{- end }}` }}
{{- end }}

{{/*
application-sets.templatePatch: {patch, plugin, component} -> the component's own patch and the
parameter set's patch in one text; the controller takes a single document.
*/}}
{{- define "application-sets.templatePatch" -}}
{{- $parts := list -}}
{{- if kindIs "map" .patch -}}
  {{- with omit .patch "metadata" }}{{ $parts = append $parts (toYaml .) }}{{ end -}}
  {{- if .plugin -}}
    {{- $parts = append $parts (include "application-sets.metadata" (dict "metadata" .patch.metadata)) -}}
  {{- else -}}
    {{- with .patch.metadata }}{{ $parts = append $parts (printf "metadata:\n%s" (toYaml . | indent 2)) }}{{ end -}}
  {{- end -}}
{{- else -}}
  {{- with .patch }}{{ $parts = append $parts (trimSuffix "\n" .) }}{{ end -}}
  {{- if .plugin -}}
    {{- if regexMatch "(?m)^metadata\\s*:" (.patch | default "") -}}
      {{- fail (printf "components.%s.templatePatch: a text may not set metadata, the deletion finalizer goes there; use annotations, labels, or a templatePatch that is a map" .component) -}}
    {{- end -}}
    {{- if regexMatch "^\\s*[ \\t]\\S" (.patch | default "") -}}
      {{- fail (printf "components.%s.templatePatch: a text must begin at the first column, the deletion finalizer follows it" .component) -}}
    {{- end -}}
    {{- if hasPrefix "{\"" (trim (.patch | default "")) -}}
      {{- fail (printf "components.%s.templatePatch: a text must be YAML; give JSON as a map" .component) -}}
    {{- end -}}
    {{- $parts = append $parts (include "application-sets.metadata" dict) -}}
  {{- end -}}
{{- end -}}
{{- join "\n" $parts -}}
{{- end }}

{{/*
application-sets.syncPolicy: {entry} -> spec.syncPolicy of an Application. What is false in
`automated` is left out: it is the default, and the ApplicationSet controller drops it whenever it
writes the ApplicationSet, upon which Argo CD would put it back.
*/}}
{{- define "application-sets.syncPolicy" -}}
{{- $policy := dict -}}
{{- range $k, $v := (.syncPolicy | default dict) }}{{ $_ := set $policy $k $v }}{{ end -}}
{{- if kindIs "map" $policy.automated -}}
  {{- $automated := dict -}}
  {{- range $k, $v := $policy.automated }}{{ if or $v (eq $k "enabled") }}{{ $_ := set $automated $k $v }}{{ end }}{{ end -}}
  {{- $_ := set $policy "automated" $automated -}}
{{- end -}}
{{- with .syncOptions }}{{ $_ := set $policy "syncOptions" . }}{{ end -}}
{{- if $policy }}{{ toYaml $policy }}{{ end -}}
{{- end }}
