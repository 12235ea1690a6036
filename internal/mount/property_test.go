package mount_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/cases"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// TestMountReachesNobodyElse is W1 for mounts: whatever is in a mount's repository, and even if
// what is within its bounds is joined in spite of the rest, no other set changes, no other member
// has a problem, and the team's own sets stay in its namespaces.
func TestMountReachesNobodyElse(t *testing.T) {
	main := fleettest.Snapshot("rev", fleetFiles())
	mounts := mountsOf(t, main)
	base := state(t, main)
	before := map[string]map[string]string{}
	groups := []string{"addons", "workloads", "teams"}
	for _, g := range groups {
		before[g] = sets(t, base, g)
	}
	own, refused := 0, 0
	for seed := range cases.Times(150) {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		files := fleettest.Tree{}
		for range 1 + r.IntN(4) {
			level := pick("defaults", "defaults", "tenants/defaults", "tenants/shop/defaults", "tenants/shop/environments/prod", "tenants/shop/clusters/shop-1", "tenants/bank/defaults", "tenants/shop/clusters/bank-1", "fleet", "..", ".")
			switch r.IntN(3) {
			case 0:
				entry := pick("enabled: true", "enabled: true, namespace: "+pick("cart", "cart-x", "card", "kube-system", "null", `"{{ .tenant }}"`), "selector: {matchLabels: {tenant: bank}}", "chart: {repoURL: "+pick("https://git.example.com/shop/x", "https://evil.example/x")+"}",
					"values: {a: '{{ .cluster }}'}", "values: {a: '{{ .nothing }}'}", "project: default", "kind: manifests", "null", "releaseName: dns", "version: v9")
				files[level+"/application-sets/"+pick("workloads", "workloads", "addons", "teams", "fleet")+".yaml"] = pick("cart-web", "cart-web", "cart-web", "card-web", "cart-web-x", "platform", "new") + ": {" + entry + "}\n"
			case 1:
				files[level+"/workloads/"+pick("cart-web", "cart-web", "card-web", "platform")+"/values.yaml"+pick("", ".gotmpl")] = pick("a: 1\n", "from: {b: 1}\n", "a: {{ .cluster }}\n", "a: [\n", "a: &x [*x]\n", "- a\n")
			default:
				files[level+pick("/fleet/fleet-secret/values.yaml", "/teams/team-cart/values.yaml", "/addons/dns/values.yaml", "/layout.yaml")] = "externalSecret: {labels: {tenant: bank}}\n"
			}
		}
		part, problems := mounts.Scopes[0].Read(fleettest.Snapshot("c", files), snapshot.Part{})
		if len(problems) > 0 {
			refused++
		}
		st, err := fleetstate.Build(base, main.Join([]snapshot.Part{part}), facts.Set{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, files)
		}
		for _, p := range problem.Errors(st.Problems) {
			if p.Cluster != "shop-1" {
				t.Fatalf("seed %d: %v\n%v", seed, p, files)
			}
		}
		for _, g := range groups {
			after := sets(t, st, g)
			if set, ok := after["cart-web-shop-1"]; ok {
				own++
				if ns, _, _ := strings.Cut(set, " "); ns != "cart" && !strings.HasPrefix(ns, "cart-") {
					t.Fatalf("seed %d: namespace %s\n%v", seed, ns, files)
				}
			}
			delete(after, "cart-web-shop-1")
			if !maps.Equal(before[g], after) {
				t.Fatalf("seed %d, group %s: %v\n%v\n%s", seed, g, before[g], after, fmt.Sprint(files))
			}
		}
	}
	if own == 0 || refused == 0 {
		t.Errorf("%d commits reach the team's own members, %d are refused: the commits show little", own, refused)
	}
}
