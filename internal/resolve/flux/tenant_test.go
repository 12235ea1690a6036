package flux_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// fluxFleet is the small fleet on a hub with Flux, with a cluster blue-one of another tenant.
func fluxFleet(more fleettest.Tree) fleettest.Tree {
	return fleettest.Small().With(fleettest.Tree{
		fleettest.Member("hub"):      "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n",
		fleettest.Member("blue-one"): "{clusterName: blue-one, tenant: blue, environment: prod}\n",
	}).With(more)
}

// renderHub renders the artifact of the hub, and builds it as kustomize-controller does.
func renderHub(t *testing.T, st *fleetstate.State) (files map[string]string, built resmap.ResMap, problems []problem.Problem) {
	t.Helper()
	o, err := flux.OwnedBy(st, "hub", "hub")
	require.NoError(t, err)
	rendered, problems := flux.Render(o)
	files, disk := map[string]string{}, filesys.MakeFsInMemory()
	for _, f := range rendered {
		files[f.Name] = string(f.Data)
		require.NoError(t, disk.WriteFile("/artifact/"+f.Name, f.Data))
	}
	if built, err = krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/artifact"); err != nil {
		t.Errorf("kustomize: %v", err)
	}
	return files, built, problems
}

// TestHelmRepositoryIsOfOneAddress: two addresses that look alike, and whose digests begin alike,
// are two HelmRepositories; each component takes its chart from its own. (W1)
func TestHelmRepositoryIsOfOneAddress(t *testing.T) {
	const platform, tenant = "https://charts.platform.example/repository/helm-charts/85778", "https://charts-platform.example/repository/helm-charts/39319"
	if a, b := sha256.Sum256([]byte(platform)), sha256.Sum256([]byte(tenant)); [4]byte(a[:4]) != [4]byte(b[:4]) {
		t.Fatal("the digests differ from the beginning")
	}
	st := querytest.NoProblems(t, querytest.Build(t, fluxFleet(fleettest.Tree{
		fleettest.SystemCatalog: "dns: {enabled: true, chart: {repoURL: '" + platform + "', name: dns, version: 1.0.0}}\n",
		fleettest.OneCatalog:    "dns: {chart: {repoURL: '" + tenant + "'}}\n",
	})))
	files, _, problems := renderHub(t, st)
	if len(problems) > 0 {
		t.Error(querytest.Problems(problems))
	}
	url := map[string]string{}
	for file, text := range files {
		if name, is := strings.CutPrefix(strings.TrimSuffix(file, ".yaml"), "repositories/"); is {
			_, after, _ := strings.Cut(text, "  url: ")
			url[name] = strings.Fields(after + " -")[0]
		}
	}
	for cluster, want := range map[string]string{"one": tenant, "two": platform, "blue-one": platform} {
		_, after, _ := strings.Cut(files["components/dns-"+cluster+".yaml"], "kind: HelmRepository\n")
		if _, name, _ := strings.Cut(after, "name: "); url[strings.Fields(name + " -")[0]] != want {
			t.Errorf("%s takes its chart from %s", cluster, fmt.Sprint(url))
		}
	}
}

const tenantChart = ": {enabled: true, chart: {repoURL: https://tenant.example, name: own, version: 1.0.0}}\n"

// TestTakenNameChangesNoArtifact: a tenant's own component whose object would have the name of
// another one leaves the hub's artifact as it is. (W1)
func TestTakenNameChangesNoArtifact(t *testing.T) {
	files := fluxFleet(fleettest.Tree{
		fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\next-dns: {enabled: true, " + fleettest.DNSChart + "}\n" +
			"sub: {enabled: true, kind: manifests, substitute: true, chart: {repoURL: https://git.example/x, path: x, version: main}}\n",
	})
	before := querytest.NoProblems(t, querytest.Build(t, files))
	good, _, _ := renderHub(t, before)
	const companion = "{enabled: true, " + fleettest.DNSChart + ", companions: {%s: {chart: {repoURL: https://tenant.example, name: own, version: 1.0.0}}}}\n"
	for name, entry := range map[string]string{
		"of a component":               "ext-dns-blue" + tenantChart,
		"of a companion":               "ext: " + fmt.Sprintf(companion, "dns-blue"),
		"of a platform's component's":  "ext-dns: " + fmt.Sprintf(companion, "x-blue"),
		"of a registration":            "fleet-secret" + tenantChart,
		"of a registration, companion": "fleet: " + fmt.Sprintf(companion, "secret"),
		"of the facts":                 "cluster-info" + tenantChart,
	} {
		st := querytest.Next(t, before, fleettest.Snapshot("2", files.With(fleettest.Tree{fleettest.OneCatalog: entry})), facts.NewSet(false))
		if got := querytest.Problems(st.Problems); !strings.HasPrefix(got, "duplicate-name "+fleettest.OneCatalog) || strings.Contains(got, "\n") {
			t.Errorf("%s: %s", name, got)
		}
		now, _, problems := renderHub(t, st)
		if diff := cmp.Diff(good, now); diff != "" || len(problems) > 0 {
			t.Errorf("%s: %s\n%s", name, querytest.Problems(problems), diff)
		}
	}
}

// TestNameThatComesLaterLeavesOutTheTenant: where another tenant's cluster comes, whose component
// has the name of what a tenant runs already, the artifact has the former and leaves the latter's
// cluster out, whichever comes first in it. (W1)
func TestNameThatComesLaterLeavesOutTheTenant(t *testing.T) {
	for name, entry := range map[string]string{
		"of a component": "ext-dns-blue" + tenantChart,
		"of a companion": "ext: {enabled: true, " + fleettest.DNSChart + ", companions: {dns-blue: {chart: {repoURL: https://tenant.example, name: own, version: 1.0.0}}}}\n",
	} {
		for _, cluster := range []string{"a", "one"} {
			victim := "blue-" + cluster
			without := fluxFleet(fleettest.Tree{
				fleettest.Member("blue-one"): "", fleettest.Member(cluster): fleettest.Spoke(cluster, ""),
				fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\next-dns: {enabled: true, " + fleettest.DNSChart + "}\n",
				"addons/tenants/retail/clusters/" + cluster + "/application-sets/addons.yaml": entry,
			})
			files := without.With(fleettest.Tree{fleettest.Member(victim): "{clusterName: " + victim + ", tenant: blue, environment: prod}\n"})
			st := querytest.Next(t, querytest.NoProblems(t, querytest.Build(t, without)), fleettest.Snapshot("2", files), facts.NewSet(false))
			now, _, problems := renderHub(t, st)
			if len(problems) != 1 || problems[0].Reason != problem.DuplicateName || problems[0].Cluster != cluster {
				t.Errorf("%s on %s: %s", name, cluster, querytest.Problems(problems))
			}
			if text := now["components/ext-dns-"+victim+".yaml"]; !strings.Contains(text, "argosy.dev/cluster: "+victim+"\n") || strings.Contains(text, "tenant.example") {
				t.Errorf("%s on %s: the other cluster's is %s", name, cluster, text)
			}
			for file, text := range now {
				if strings.Contains(text, "argosy.dev/cluster: "+cluster+"\n") {
					t.Errorf("%s on %s: %s is not left out", name, cluster, file)
				}
			}
		}
	}
}

// TestPlatformsNameTwiceStopsItsCluster: a component of the platform that is called as what all of
// a cluster's components share stops the artifact of no other cluster. (W1)
func TestPlatformsNameTwiceStopsItsCluster(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fluxFleet(fleettest.Tree{
		"addons/tenants/defaults/application-sets/addons.yaml": "cluster-info: {enabled: true, selector: {matchLabels: {environment: dev}}, " + fleettest.DNSChart + "}\n" +
			"sub: {enabled: true, kind: manifests, substitute: true, chart: {repoURL: https://git.example/x, path: x, version: main}}\n",
	})))
	files, built, problems := renderHub(t, st)
	if len(problems) != 1 || problems[0].Reason != problem.DuplicateName || problems[0].Cluster != "two" {
		t.Error(querytest.Problems(problems))
	}
	if built.Size() == 0 || files["components/dns-one.yaml"] == "" || files["components/dns-two.yaml"] != "" {
		t.Errorf("%d objects", built.Size())
	}
}

// TestHubLeavesOutAMemberWithAnError: what Flux cannot express of one member is left out of the
// hub's artifact, and no other member's objects change. Of the hub itself it refuses the artifact.
// Lint names it beforehand. (W1)
func TestHubLeavesOutAMemberWithAnError(t *testing.T) {
	const hub = "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n"
	files := fleettest.Small().With(fleettest.Tree{fleettest.Member("hub"): hub})
	render := func(files fleettest.Tree) (map[string]string, string) {
		st := querytest.NoProblems(t, querytest.Build(t, files))
		o, err := flux.OwnedBy(st, "hub", "hub")
		require.NoError(t, err)
		rendered, problems := flux.Render(o)
		if lint := querytest.Problems(flux.Lint(st)); lint != querytest.Problems(problems) {
			t.Errorf("lint finds %s; expected %s", lint, querytest.Problems(problems))
		}
		out := map[string]string{}
		for _, f := range rendered {
			out[f.Name] = string(f.Data)
		}
		return out, querytest.Problems(problems)
	}
	good, _ := render(files)
	const variables = "sub: {enabled: true, kind: manifests, substitute: true, chart: {repoURL: https://git.example/x, path: x, version: main}}\n"
	for name, c := range map[string]struct {
		file, text string
		more       fleettest.Tree
	}{
		"no chart":                     {fleettest.OneCatalog, "new: {enabled: true}\n", nil},
		"a namespace":                  {fleettest.OneCatalog, "dns: {namespace: Kube_System}\n", nil},
		"a kind of source":             {fleettest.OneCatalog, "dns: {chart: {repoURL: 'file:///x'}}\n", nil},
		"an address of two lines":      {fleettest.OneCatalog, "dns: {chart: {repoURL: \"https://charts.example/\\nx\"}}\n", nil},
		"an address of manifests":      {fleettest.OneCatalog, "sub: {enabled: true, kind: manifests, chart: {repoURL: \"https://git.example/\\nx\", path: x, version: main}}\n", nil},
		"an address beyond all bounds": {fleettest.OneCatalog, `dns: {chart: {repoURL: 'https://e/{{ repeat 1000000 "\x01" }}'}}` + "\n", nil},
		"a chart's name":               {fleettest.OneCatalog, "dns: {chart: {name: " + strings.Repeat("a", 2049) + "}}\n", nil},
		"a variable's name":            {fleettest.Member("one"), "clusterName: one\ntenant: retail\nenvironment: prod\nannotations: {? " + strings.Repeat("a", 240) + ".io/x : x}\n", fleettest.Tree{fleettest.OneCatalog: variables}},
	} {
		now, problems := render(files.With(c.more).With(fleettest.Tree{c.file: c.text}))
		assert.Contains(t, problems, c.file, "%s: the problem", name)
		if len(now) == 0 {
			t.Errorf("%s: no artifact", name)
		}
		for file, text := range good {
			switch ofOne := strings.HasSuffix(file, "-one.yaml"); {
			case file == "kustomization.yaml":
			case ofOne && strings.Contains(file, "/") && now[file] != "":
				t.Errorf("%s: %s is not left out", name, file)
			case !ofOne && now[file] != text:
				t.Errorf("%s: %s is %s; expected %s", name, file, now[file], text)
			}
		}
	}
	if now, problems := render(files.With(fleettest.Tree{"addons/control-plane/defaults/application-sets/addons.yaml": "dns: {namespace: Kube_System}\n"})); len(now) > 0 || problems == "" {
		t.Errorf("the hub's own error: %d files, %s", len(now), problems)
	}
}
