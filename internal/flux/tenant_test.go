package flux_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/flux"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/querytest"
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
	if err != nil {
		t.Fatal(err)
	}
	rendered, problems := flux.Render(o, flux.Options{})
	files, disk := map[string]string{}, filesys.MakeFsInMemory()
	for _, f := range rendered {
		files[f.Name] = string(f.Data)
		if err := disk.WriteFile("/artifact/"+f.Name, f.Data); err != nil {
			t.Fatal(err)
		}
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
	if a, b := sha256.Sum256([]byte(platform)), sha256.Sum256([]byte(tenant)); string(a[:4]) != string(b[:4]) {
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
