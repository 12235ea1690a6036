package tenanttest

import (
	"fmt"
	"strings"
)

// component returns a component's name: of the catalogs, of other tenants, of the hub, or an
// invalid one.
func component(d *decisions) string {
	if d.below(3) < 2 {
		return d.pick("dns", "web", "folder", "portal", "console")
	}
	return d.pick("own", "pools", "fleet-secret", "agent", "argo-cd", "blue-0", "dns-blue-0", "grant-addons", "red", strings.Repeat("long", 16), "Odd_Name", "x.y", "9")
}

// maxDepth bounds how deep a generated value is nested.
const maxDepth = 5

// mapping returns a document of values: lines of keys.
func mapping(d *decisions, depth int) string {
	var b strings.Builder
	for range 1 + d.below(4) {
		b.WriteString(key(d) + ": " + value(d, depth+1) + "\n")
	}
	return b.String()
}

func key(d *decisions) string {
	return d.pick("from", "list", "shared", "sets", "env", "of", "global", "labels", "fullnameOverride", `"a.b"`, "title", "yes", "12", `""`, "<<", `"{{ .cluster }}"`, "values", "clusterName", "secretName")
}

// value returns a value in YAML's flow style.
func value(d *decisions, depth int) string {
	if depth > maxDepth {
		return scalar(d)
	}
	switch d.below(24) {
	case 19:
		return "{" + key(d) + ": " + value(d, depth+1) + ", " + key(d) + ": " + value(d, depth+1) + "}"
	case 20:
		return "[" + value(d, depth+1) + ", " + value(d, depth+1) + "]"
	case 21:
		return "[{name: " + d.pick("a", "b", "null", "1") + ", value: " + value(d, depth+1) + "}]"
	case 22:
		return d.pick("&a ", "&b ", "!!str ", "!!binary ", "!x ", "!!merge ") + value(d, depth+1)
	case 23:
		return d.pick("*a", "*b", "{a: &a [*a]}", "{<<: *a}", "{<<: {from: merged}}", "{}", "[]")
	default:
		return scalar(d)
	}
}

func scalar(d *decisions) string {
	switch d.below(10) {
	case 0:
		return d.pick("null", "~", `""`, "true", "no", "on", "0123", "-0.0", "1e400", "0x10", "12345678901234567890", ".nan", "2001-01-01", "1_000")
	case 1:
		return quoted(d.raw())
	case 2, 3, 4:
		return quoted(template(d))
	case 5:
		if d.oneIn(4) {
			return template(d) // which is YAML only after the template is executed
		}
		return quoted(template(d))
	case 6:
		return quoted(strings.Repeat(d.pick("x", "é", "\n", "a: ", "{{"), 1<<d.below(15)))
	default:
		return d.pick("blue", "blue-0", "hub", "red-0", "platform", "https://kubernetes.default.svc", "hub/blue-0", quoted("{{ .cluster }}"))
	}
}

// template returns one or several template actions. Where no template is executed, they are text.
func template(d *decisions) string {
	arg := func() string {
		return d.pick(".", ".labels", ".member", ".cluster", ".tenant", ".hub", ".annotations", ".absent", "$", `"blue"`, "12", `(dict "a" 1)`, `(list 1 2)`, ".labels.tenant", `(index .labels "x")`)
	}
	switch d.below(14) {
	case 0:
		return "{{ " + arg() + " | toJson }}"
	case 1:
		return "{{ range $k, $v := " + arg() + " }}{{ $k }}{{ $v }}{{ end }}"
	case 2:
		return fmt.Sprintf("{{ repeat %d %s }}", []int{1, 10, 1000, 100000, 1 << 30, -1}[d.below(6)], arg())
	case 3:
		return `{{ $_ := ` + d.pick("set", "mergeOverwrite", "merge", "mustMerge", "unset", "deepCopy", "append", "prepend") + " " + arg() + " " + arg() + " " + arg() + " }}{{ .tenant }}"
	case 4:
		return `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`
	case 5:
		return "{{ " + d.pick("env", "expandenv", "lookup", "include", "tpl", "now", "getHostByName", "genPrivateKey", "randAlpha", "fail", "required", "htpasswd", "derivePassword") + " " + arg() + " " + arg() + " }}"
	case 6:
		return "{{ if eq .cluster \"blue-0\" }}" + arg() + "{{ else }}" + d.pick("{{ .x.y.z }}", "ok", "null", "{{ end }}") + "{{ end }}"
	case 7:
		return "{{ with " + arg() + " }}{{ . | toYaml | nindent " + d.pick("2", "0", "99999") + " }}{{ end }}"
	case 8:
		return "{{ " + d.pick("keys", "values", "pluck", "pick", "omit", "dig", "fromYaml", "fromJson", "splitList", "until", "seq", "regexReplaceAll", "b64dec", "sha256sum", "trimSuffix", "printf") + " " + arg() + " " + arg() + " }}"
	case 9:
		return "{{ range until " + d.pick("3", "1000", "99999999") + " }}x{{ end }}"
	case 10:
		return "{{ " + d.raw() + " }}"
	case 11:
		return d.pick("{{", "}}", "{{ end }}", "{{/* */}}", "{{ `", "{{- \"\" -}}")
	default:
		return "{{ " + arg() + " }}"
	}
}

// entries returns a catalog.
func entries(d *decisions) string {
	var b strings.Builder
	indent := ""
	if d.oneIn(4) {
		b.WriteString("components:\n")
		indent = "  "
	}
	for range 1 + d.below(3) {
		b.WriteString(indent + component(d) + ": " + entry(d) + "\n")
	}
	return b.String()
}

func entry(d *decisions) string {
	if d.oneIn(8) {
		return value(d, 0)
	}
	var keys []string
	said := map[string]bool{}
	for range 1 + d.below(5) {
		text := fill(d, d.pick(
			"enabled: true", "enabled: true", "enabled: false", "enabled: false", "enabled: true", "enabled: SCALAR", "enabled: null",
			"chart: {repoURL: https://evil.example, name: x, version: 9.9.9}", "chart: {version: SCALAR}", "chart: null", "chart: {path: ../blue, repoURL: https://git.example/argosy, version: main}",
			"namespace: kube-system", "namespace: argocd", "namespace: SCALAR", "releaseName: dns-blue-0", "releaseName: SCALAR",
			"selector: {matchLabels: {tenant: blue}}", "selector: {matchLabels: {tenant: null}}", "selector: null", "selector: {matchExpressions: [{key: tenant, operator: In, values: [blue]}]}", "selector: VALUE",
			"values: VALUE", "values: null", "kind: manifests", "kind: SCALAR", "dependsOn: [own, dns]", "dependsOn: [COMPONENT]", "substitute: true",
			"templatePatch: {spec: {destination: {name: hub}}}", "templatePatch: 'spec: {project: default}'", "syncPolicy: {automated: {prune: true}}", "project: default", "additionalSources: [{repoURL: https://evil.example}]", "destination: {name: hub}", "enable: true"))
		if key, _, _ := strings.Cut(text, ":"); !said[key] || d.oneIn(16) { // a duplicate key is an error
			keys, said[key] = append(keys, text), true
		}
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

// fill replaces the placeholders of a text, so that only texts in use take decisions.
func fill(d *decisions, text string) string {
	for _, of := range []struct {
		word string
		by   func() string
	}{
		{"LABELS", func() string { return labels(d) }},
		{"SCALAR", func() string { return scalar(d) }},
		{"VALUE", func() string { return value(d, 2) }},
		{"COMPONENT", func() string { return component(d) }},
		{"KEY", func() string { return key(d) }},
	} {
		if before, after, found := strings.Cut(text, of.word); found {
			return before + of.by() + fill(d, after)
		}
	}
	return text
}

// labels returns labels or annotations, a tenant's own and reserved ones.
func labels(d *decisions) string {
	return "{" + d.pick("ring", "of", "tenant", "environment", "fleet_member", "addonsRelease", "fleet_secret_release", "cluster_name", "argocd.argoproj.io/x", "addons_repo_url", "x/y", "enable_web", "argosy.dev/cluster", "fleetSecretRelease") + ": " +
		d.pick("a", "b", "blue", "canary", "nowhere", "null", `"true"`, `"{{ .cluster }}"`, "[x]", "12", strings.Repeat("x", 64)) + "}"
}

// registration returns values of a chart that is deployed to the hub.
func registration(d *decisions) string {
	var b strings.Builder
	for range 1 + d.below(3) {
		b.WriteString(fill(d, d.pick("externalSecret: {labels: LABELS}", "externalSecret: {annotations: LABELS}", "externalSecret: {labels: LABELS, annotations: LABELS}",
			"externalSecret: {secretName: blue-0, creationPolicy: Merge}", "externalSecret: {config: {execProviderConfig: {command: sh}}}", "externalSecret: {server: https://kubernetes.default.svc}", "externalSecret: null", "externalSecret: {labels: null}",
			"externalSecret: VALUE", "secretStore: null", "secretStore: {create: true, aws: {region: eu}}", "gitCredentials: {fleet: {url: https://git.example, data: {proxy: evil}}}", "secretManagerSecretName: hub/blue-0", "githubSecretName: github/blue/app",
			"clusterName: blue-0", "server: x", "kubeconfig: {secretName: hub/blue-0}", "global: {x: 1}", "labels: LABELS", "KEY: VALUE")) + "\n")
	}
	return b.String()
}
