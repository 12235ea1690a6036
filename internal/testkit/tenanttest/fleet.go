package tenanttest

import (
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// Red is the tenant that commits; Blue is the tenant that must not be affected.
const (
	Red  = "red"
	Blue = "blue"
)

// Hub is the fleet's hub.
const Hub = "hub"

// Variants is the number of fleets.
const Variants = 4

// Variant is one of the fleets.
type Variant int

// HasFlux reports whether the hub's engine is Flux.
func (v Variant) HasFlux() bool { return v&1 != 0 }

// HasRules reports whether the hub's Applications are known and the layout has rules: merge rules,
// patterns of secrets, schemas for tenants, member files by tenant, and warnings of duplicate keys.
func (v Variant) HasRules() bool { return v&2 != 0 }

// IsRed reports whether a cluster is one of tenant Red.
func IsRed(cluster string) bool { return strings.HasPrefix(cluster, Red+"-") }

// members holds the members of each tenant: a centralized one, and an agent of each kind that the
// hub may have.
var members = map[string]string{
	"0": "environment: prod\n",
	"1": "environment: dev\nuse_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n",
	"2": "environment: prod\nuse_remote_argo: true\nenable_remote_addons: true\n",
}

const catalog = `
dns: {enabled: true, chart: {repoURL: https://charts.example, name: dns, version: 1.0.0}, values: {of: "{{ .cluster }}"}}
web: {enabled: false, chart: {repoURL: https://charts.example, name: web, version: 1.0.0}, selector: {matchLabels: {ring: a}}}
console: {enabled: true, chart: {repoURL: https://charts.example, name: console, version: 1.0.0}}
portal: {enabled: true, chart: {repoURL: https://charts.example, name: portal, version: 1.0.0}, templatePatch: {spec: {destination: {name: hub}}}, companions: {identity: {chart: {repoURL: https://git.example/i, path: i, version: main}}}}
folder: {enabled: true, kind: manifests, chart: {repoURL: https://git.example/m, path: m, version: main}, dependsOn: [dns]}
`

const rules = `apiVersion: argosy.dev/v1alpha1
kind: Layout
groups: {addons: {root: addons, catalog: catalog.yaml}}
members: fleet/members/{{ .tenant }}/{{ .hub }}/{{ .cluster }}.yaml
duplicateKeys: warn
secretNames: {cluster: ["{{ .hub }}/{{ .cluster }}"], git: ["github/{{ .tenant }}/*"]}
tenantSchemas: {addons/console: console.schema.json}
merge:
  - {path: list, strategy: append}
  - {path: sets, strategy: unique}
  - {path: env, strategy: {by-key: name}}
`

// Fleet returns a fleet of the hub "hub" and the tenants Red and Blue. Each tenant has files at
// each of its levels, and members of every model.
func Fleet(v Variant) fleettest.Tree {
	const chart = `chartRepoUrl: https://git.example/argosy, chartRepoPath: charts/application-sets, use_helm_repo_path: "true"`
	engine := "argocd"
	if v.HasFlux() {
		engine = "flux"
	}
	files := fleettest.Tree{
		"versions/applicationSets.yaml": "releases:\n  globals: {" + chart + "}\n  addons:\n    - {type: default, chartRepoRevision: v1}\n    - {type: canary, chartRepoRevision: v2}\n" +
			"  fleet: [{type: default, chartRepoRevision: v1}]\n  resources: [{type: default, chartRepoRevision: v1}]\n",
		"versions/fleetSecrets.yaml":                             "releases: [{type: default, chartRepo: r, ecrChartName: fleet-secret, version: 1.0.0}, {type: canary, chartRepo: r, ecrChartName: fleet-secret, version: 2.0.0}]\n",
		fleettest.Member(Hub):                                    "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: " + engine + "}\n",
		"addons/defaults/addons/dns/values.yaml":                 "from: system\nlist: [system]\nenv: [{name: a, value: system}]\n",
		"addons/defaults/addons/portal/identity.yaml":            "role: reader\n",
		"addons/defaults/addons/web/values.yaml.gotmpl":          "cluster: {{ .cluster }}\nlabels: {{ .labels | toJson }}\n",
		"addons/defaults/fleet/fleet-secret/values.yaml":         "secretStore: {create: false, name: platform}\nexternalSecret: {labels: {ring: b}}\n",
		"addons/tenants/defaults/addons/dns/values.yaml":         "shared: {by: all, map: {a: 1}}\n",
		"resources/defaults/application-sets/resources.yaml":     "pools: {enabled: true, chart: {repoURL: https://git.example/p, path: p, version: main}}\n",
		"addons/control-plane/defaults/addons/dns/values.yaml":   "from: hubs\n",
		"addons/tenants/defaults/application-sets/addons.yaml":   "web: {values: {tenants: all}}\n",
		"resources/tenants/defaults/resources/pools/values.yaml": "pools: {}\n",
	}
	if v.HasRules() {
		files["fleet/layout.yaml"] = rules + "hubs: {hub: {tenant: platform, environment: prod, remote_engine: " + engine + "}}\n"
		delete(files, fleettest.Member(Hub))
		files["catalog.yaml"] = catalog
		files["console.schema.json"] = `{"type": "object", "additionalProperties": false, "properties": {"title": {"type": "string"}}}`
	} else {
		files["addons/defaults/application-sets/addons.yaml"] = catalog
	}
	for _, tenant := range []string{Red, Blue} {
		for number, keys := range members {
			name := tenant + "-" + number
			if v.HasFlux() {
				keys = strings.Replace(keys, "argo: true\nenable", "argo: true\nremote_engine: flux\nenable", 1)
			}
			files[member(v.HasRules(), tenant, name)] = "clusterName: " + name + "\ntenant: " + tenant + "\nsecretManagerSecretName: hub/" + name + "\n" + keys
			files[folder(tenant, "clusters/"+name)+"addons/dns/values.yaml"] = "from: " + name + "\nlist: [" + name + "]\n"
		}
		files[folder(tenant, "defaults")+"addons/dns/values.yaml"] = "from: " + tenant + "\n"
		files[folder(tenant, "defaults")+"application-sets/addons.yaml"] = "dns: {values: {tenant: " + tenant + "}}\n"
		files[folder(tenant, "environments/prod")+"addons/dns/values.yaml.gotmpl"] = "in: {{ .environment }}\nof: {{ .labels | toJson }}\n"
		files[folder(tenant, "defaults")+"fleet/fleet-secret/values.yaml"] = "externalSecret: {labels: {of: " + tenant + "}}\n"
	}
	files[folder(Blue, "defaults")+"application-sets/addons.yaml"] = "web: {enabled: true, selector: {matchLabels: {ring: null}}}\nown: {enabled: true, chart: {repoURL: https://charts.blue.example, name: own, version: 1.0.0}}\n"
	return files
}

// WithoutRed returns a fleet without the files of tenant Red.
func WithoutRed(files fleettest.Tree) fleettest.Tree {
	out := fleettest.Tree{}
	for p, text := range files {
		if !isRedFile(p) {
			out[p] = text
		}
	}
	return out
}

// Facts returns the facts of a fleet.
func Facts(v Variant) facts.Set {
	known := facts.NewSet(false)
	if !v.HasRules() {
		return known
	}
	var clusters []facts.Cluster
	var apps []facts.Application
	for _, tenant := range []string{Red, Blue} {
		for number := range members {
			name := tenant + "-" + number
			clusters = append(clusters, facts.Cluster{Name: name, Server: "https://" + name + ".example", Labels: map[string]string{"live": name, "ring": "a"}})
			apps = append(apps, fleettest.Registration(name))
			for _, component := range []string{"dns", "web", "folder", "gone"} {
				apps = append(apps, fleettest.Controlled(fleettest.Application(component, name, "default"), "addons-default-"+component))
			}
		}
	}
	if v.HasFlux() {
		var releases []facts.Application
		for _, a := range apps {
			if a.Group != "" {
				releases = append(releases, fleettest.HelmRelease(a.Component, a.Cluster, "hub"))
			}
		}
		return facts.NewSet(false, clusters...).WithHelmReleases(releases...)
	}
	return facts.NewSet(false, clusters...).WithApplications(apps...)
}

func folder(tenant, level string) string { return "addons/tenants/" + tenant + "/" + level + "/" }

// isRedFile reports whether tenant Red may commit a path.
func isRedFile(p string) bool {
	return strings.HasPrefix(p, "addons/tenants/red/") || strings.HasPrefix(p, "resources/tenants/red/") || isRedMember(p)
}

func isRedMember(p string) bool {
	return strings.HasPrefix(p, "fleet/fleet-members/hub/red-") || strings.HasPrefix(p, "fleet/members/red/")
}

// member returns the path of a member's file.
func member(inTenants bool, tenant, name string) string {
	if inTenants {
		return "fleet/members/" + tenant + "/" + Hub + "/" + name + ".yaml"
	}
	return fleettest.Member(name)
}
