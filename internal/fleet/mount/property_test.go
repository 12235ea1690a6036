package mount_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// folderFiles is the fleet of fleetFiles with folders of value files that the catalog names.
func folderFiles() fleettest.Tree {
	files := fleetFiles()
	files["fleet/layout.yaml"] += "files: {values: \"{{ .group }}/{{ .folder }}/values.yaml\"}\n"
	files["catalogs/workloads.yaml"] = strings.Replace(files["catalogs/workloads.yaml"], "card-web: {", "card-web: {folder: cards, ", 1)
	return files
}

// world is a fleet, and what it says before its mount has anything.
type world struct {
	main   *snapshot.Snapshot
	mounts *mount.Table
	base   *fleetstate.State
	before map[string]map[string]string
}

func worldOf(t *testing.T, files fleettest.Tree) world {
	t.Helper()
	main := fleettest.Snapshot("rev", files)
	w := world{main, mountsOf(t, main), state(t, main), map[string]map[string]string{}}
	for _, g := range groups {
		w.before[g] = sets(t, w.base, g)
	}
	return w
}

var groups = []string{"addons", "workloads", "teams"}

// TestMountReachesNobodyElse is W1 for mounts: whatever is in a mount's repository, and even if
// what is within its bounds is joined in spite of the rest, no other set changes, no other member
// has a problem, and the team's own sets stay in its namespaces and repositories. `make walls`
// tries many commits.
func TestMountReachesNobodyElse(t *testing.T) {
	worlds := []world{worldOf(t, fleetFiles()), worldOf(t, folderFiles())}
	own, refused := 0, 0
	for seed := range cases.Times(100) {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		w := worlds[seed%len(worlds)]
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		files := fleettest.Tree{}
		for range 1 + r.IntN(4) {
			level := pick("defaults", "defaults", "tenants/defaults", "tenants/shop/defaults", "tenants/shop/environments/prod", "tenants/shop/clusters/shop-1", "tenants/bank/defaults", "tenants/shop/clusters/bank-1", "fleet", "..", ".")
			switch r.IntN(3) {
			case 0:
				entry := pick("enabled: true", "enabled: true, namespace: "+pick("cart", "cart-x", "card", "kube-system", "null", `"{{ .tenant }}"`), "selector: {matchLabels: {tenant: bank}}", "chart: {repoURL: "+pick("https://git.example.com/shop/x", "https://evil.example/x")+"}",
					"values: {a: '{{ .cluster }}'}", "values: {a: '{{ .nothing }}'}", "project: default", "kind: manifests", "null", "releaseName: dns", "version: v9",
					`chart: {path: '{{ printf "%s%s" "." "." }}/x'}`, "chart: {path: ../x}", "chart: {name: ../x}", "values: {ns: kube-system}", "values: {repo: https://evil.example/x}", "values: {name: dns}",
					"chart: {repository: https://evil.example/x}", "dependsOn: [addons/dns]", "companions: {x: {chart: {repoURL: https://evil.example/x, path: x, version: v}}}", "templatePatch: x", "folder: cards")
				files[level+"/application-sets/"+pick("workloads", "workloads", "addons", "teams", "fleet")+".yaml"] = pick("cart-web", "cart-web", "cart-web", "cart_web", "card-web", "card_web", "cart-web-x", "platform", "new") + ": {" + entry + "}\n"
			case 1:
				files[level+"/workloads/"+pick("cart-web", "cart-web", "card-web", "cards", "platform")+"/"+pick("values", "values", "values", "x")+".yaml"+pick("", ".gotmpl")] = pick("a: 1\n", "cart-web: {enabled: true}\n", "from: {b: 1}\n", "a: {{ .cluster }}\n", "a: [\n", "a: &x [*x]\n", "- a\n")
			default:
				files[level+pick("/fleet/fleet-secret/values.yaml", "/teams/team-cart/values.yaml", "/addons/dns/values.yaml", "/layout.yaml")] = "externalSecret: {labels: {tenant: bank}}\n"
			}
		}
		part, problems := w.mounts.Scopes[0].Read(fleettest.Snapshot("c", files), snapshot.Part{})
		if len(problems) > 0 {
			refused++
		}
		st, err := fleetstate.Build(w.base, w.main.Join([]snapshot.Part{part}), facts.Set{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, files)
		}
		waits := "none" // a commit after which a member has an error is refused (U2)
		for _, p := range problem.Errors(st.Problems) {
			require.Equal(t, "shop-1", p.Cluster, "seed %d: %v\n%v", seed, p, files)
			waits = "-shop-1"
		}
		for _, g := range groups {
			after := sets(t, st, g)
			if text := components(t, st, g); strings.Contains(text, "evil.example") || strings.Contains(text, `"path":"..`) || strings.Contains(text, `"name":"..`) {
				t.Fatalf("seed %d: %s\n%v", seed, text, files)
			}
			if set, ok := after["cart-web-shop-1"]; ok {
				own++
				if ns, _, _ := strings.Cut(set, " "); ns != "cart" && !strings.HasPrefix(ns, "cart-") {
					t.Fatalf("seed %d: namespace %s\n%v", seed, ns, files)
				}
			}
			delete(after, "cart-web-shop-1")
			before := maps.Clone(w.before[g])
			for _, all := range []map[string]string{before, after} {
				maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasSuffix(name, waits) })
			}
			if !maps.Equal(before, after) {
				t.Fatalf("seed %d, group %s: %v\n%v\n%s", seed, g, before, after, fmt.Sprint(files))
			}
		}
	}
	if own == 0 || refused == 0 {
		t.Errorf("%d commits reach the team's own members, %d are refused: the commits show little", own, refused)
	}
}

// TestTeamsOfMountWithFolders: where the catalog names folders of value files, the team's own are
// joined and another team's refused (U3).
func TestTeamsOfMountWithFolders(t *testing.T) {
	w := worldOf(t, folderFiles())
	const apps = "defaults/application-sets/workloads.yaml"
	for name, c := range map[string]struct{ file, text, want string }{
		"own values":                 {"defaults/workloads/cart-web/values.yaml", "a: 1\n", ""},
		"own entry":                  {apps, "cart-web: {enabled: true, namespace: cart-x}\n", ""},
		"values of another's folder": {"defaults/workloads/cards/values.yaml", "cart-web: {enabled: true}\n", `values of component "card-web"`},
		"values of no folder":        {"defaults/workloads/card-web/values.yaml", "cart-web: {enabled: true}\n", "it is not the team's"},
		"another's name":             {apps, "card-web: {enabled: false}\n", "it is not the team's"},
	} {
		part, problems := w.mounts.Scopes[0].Read(fleettest.Snapshot("c", fleettest.Tree{c.file: c.text}), snapshot.Part{})
		switch {
		case c.want == "" && (len(problems) > 0 || len(part.Files()) != 1):
			t.Errorf("%s: %v", name, problems)
		case c.want != "" && (len(problems) == 0 || !strings.Contains(problems[0].Message(), c.want)):
			t.Errorf("%s: %v", name, problems)
		}
	}
}
