package fleettest

import (
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Tree is a fleet repository: it maps paths to contents.
type Tree map[string]string

// With returns a copy with added or changed files; an empty content removes a file.
func (t Tree) With(more Tree) Tree {
	out := maps.Clone(t)
	maps.Copy(out, more)
	maps.DeleteFunc(out, func(_, content string) bool { return content == "" })
	return out
}

// Paths of the small fleet's catalogs, and the chart of its component.
const (
	SystemCatalog = "addons/defaults/application-sets/addons.yaml"
	OneCatalog    = "addons/tenants/retail/clusters/one/application-sets/addons.yaml"
	DNSChart      = "chart: {repoURL: https://charts.example, name: dns, version: 1.0.0}"
)

// Small returns a fleet of the hub "hub" and its members "one" and "two" with the component dns.
// Member two is in release canary.
func Small() Tree {
	return Tree{
		"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\n",
		"versions/applicationSets.yaml": `releases:
  globals: {chartRepoUrl: https://git.example/argosy, chartRepoPath: charts/application-sets, use_helm_repo_path: "true"}
  addons:
    - {type: canary, chartRepoRevision: v2}
    - {type: default, chartRepoRevision: v1}
`,
		"versions/fleetSecrets.yaml":             "releases: [{type: default, chartRepo: r, ecrChartName: fleet-secret, version: 1.0.0}]\n",
		Member("hub"):                            "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		Member("one"):                            "{clusterName: one, tenant: retail, environment: prod}\n",
		Member("two"):                            "{clusterName: two, tenant: retail, environment: dev, labels: {addonsRelease: canary}}\n",
		SystemCatalog:                            "dns: {enabled: true, " + DNSChart + "}\n",
		"addons/defaults/addons/dns/values.yaml": "from: system\nsystem: true\n",
	}
}

// TwoHubs returns a fleet of the hubs "hub-1", with the members "a" and "b", and "hub-2", without
// members. The component dns runs everywhere.
func TwoHubs() Tree {
	const chart = "chartRepoUrl: https://example.org/repo, chartRepoPath: charts/x, chartRepoRevision: main, use_helm_repo_path: \"true\""
	return Tree{
		"fleet/fleet-members/hub-1/a.yaml":     "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: hub-1/a\n",
		"fleet/fleet-members/hub-1/b.yaml":     "clusterName: b\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/b\n",
		"fleet/fleet-members/hub-1/hub-1.yaml": "clusterName: hub-1\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n",
		"fleet/fleet-members/hub-2/hub-2.yaml": "clusterName: hub-2\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n",
		"versions/applicationSets.yaml":        "releases:\n  globals: {" + chart + "}\n  addons:\n  - type: default\n",
		"versions/fleetSecrets.yaml":           "releases:\n- {type: default, " + chart + "}\n",
		SystemCatalog: "dns:\n  enabled: true\n  namespace: dns\n" +
			"  chart: {repoURL: https://example.org/charts, name: dns, version: 1.0.0}\n",
		"addons/defaults/addons/dns/values.yaml": "replicas: 1\nname: \"<&>\"\n",
	}
}

// Member returns the path of a member's file.
func Member(name string) string { return "fleet/fleet-members/hub/" + name + ".yaml" }

// Spoke returns a member file of tenant retail in environment prod, with further keys.
func Spoke(name, more string) string {
	return "clusterName: " + name + "\ntenant: retail\nenvironment: prod\n" + more
}

// Snapshot returns a repository at a revision. A path that ends in a slash is a folder that cannot
// be read.
func Snapshot(revision string, files Tree) *snapshot.Snapshot {
	m := make(map[string]*snapshot.File, len(files))
	for p, content := range files {
		m[p] = snapshot.NewFile(p, []byte(content), snapshot.MaxFileSize)
	}
	paths := slices.Sorted(maps.Keys(files))
	for _, p := range slices.Backward(paths) { // subfolders first
		folder, is := strings.CutSuffix(p, "/")
		if is && files[p] != "" {
			maps.DeleteFunc(m, func(p string, _ *snapshot.File) bool { return strings.HasPrefix(p, folder+"/") })
			m[folder] = snapshot.Unreadable(folder, true, fs.ErrPermission)
		} else if is {
			delete(m, p)
		}
	}
	return snapshot.New(revision, m)
}
