package mount_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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

// sharedFiles is a fleet whose teams cart and card write the same tenant's folders. Team cart is on
// all of the tenant's clusters, or on one.
func sharedFiles(everywhere bool) fleettest.Tree {
	files := fleetFiles()
	if everywhere {
		files["fleet/teams/cart.yaml"] = strings.Replace(files["fleet/teams/cart.yaml"], onOne, "{}", 1)
	}
	return with(files, map[string]string{
		"fleet/layout.yaml": strings.SplitN(layout, "mounts:", 2)[0],
		"workloads/tenants/shop/defaults/application-sets/workloads.yaml":        "cart-web-x: {enabled: true}\n",
		"workloads/tenants/shop/clusters/shop-1/application-sets/workloads.yaml": "cart-web: {enabled: true}\n",
		"workloads/tenants/shop/clusters/shop-1/workloads/card-web/values.yaml":  "from: card\n",
	})
}

const onOne = "{matchLabels: {cluster: shop-1}}"

// TestReachOfTeam is what CI may approve: whatever a team changes in the fleet repository and stays
// within its reach, no set of others and no other problem differs, with any facts, and after any
// commit of others. `make walls` tries many changes.
func TestReachOfTeam(t *testing.T) {
	for _, everywhere := range []bool{true, false} {
		t.Run(fmt.Sprint(everywhere), func(t *testing.T) { reachOfTeam(t, sharedFiles(everywhere)) })
	}
}

func reachOfTeam(t *testing.T, before fleettest.Tree) {
	t.Helper()
	base, err := fleetstate.Build(nil, fleettest.Snapshot("base", before), facts.Set{})
	if err != nil || len(base.Problems) > 0 {
		t.Fatal(err, base.Problems)
	}
	reach, err := mount.NewReach(base.Resolver().Bounds(), "cart")
	require.NoError(t, err)
	within, beyond, effective := 0, 0, 0
	for seed := range cases.Times(300) {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		change := changeOf(r, before, "cart-web")
		after := fleettest.Snapshot("head", apply(before, change))
		if leaves(reach, base.Resolver().Snapshot, after) {
			beyond++
			continue
		}
		if st, err := fleetstate.Build(base, after, facts.Set{}); err != nil || len(problem.Errors(st.Problems)) > 0 {
			continue // refused by lint, and as a member that cannot be computed
		}
		within++
		for range 3 {
			later := othersCommit(r, before)
			f := anyFacts(r)
			was, problemsBefore := answer(t, apply(before, later), f)
			is, problemsAfter := answer(t, apply(apply(before, change), later), f)
			if !maps.Equal(was, is) {
				effective++
			}
			for _, all := range []map[string]string{was, is} {
				maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "cart-web-shop-") })
			}
			if !maps.Equal(was, is) || !slices.Equal(problemsBefore, problemsAfter) {
				t.Fatalf("seed %d: change %v\nlater %v\nproblems %v\nand %v\n%v\n%v", seed, change, later, problemsBefore, problemsAfter, was, is)
			}
		}
	}
	if within == 0 || beyond == 0 || effective == 0 {
		t.Errorf("%d changes within, %d beyond, %d with an effect: they show little", within, beyond, effective)
	}
	t.Logf("%d changes within, %d beyond, %d with an effect", within, beyond, effective)
}

func leaves(reach *mount.Reach, before, after *snapshot.Snapshot) bool {
	return slices.ContainsFunc(snapshot.Changed(before, after), func(p string) bool { return len(reach.Beyond(p, before.File(p), after.File(p))) > 0 })
}

// apply is a tree after a change; an empty text is no file.
func apply(files fleettest.Tree, change map[string]string) fleettest.Tree {
	out := with(files, change)
	maps.DeleteFunc(out, func(_, text string) bool { return text == "" })
	return out
}

// changeOf is a commit of somebody who writes the tenant's folders, mostly of an application.
func changeOf(r *rand.Rand, files fleettest.Tree, app string) map[string]string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	change := map[string]string{}
	for range 1 + r.IntN(3) {
		level := "workloads/" + pick("defaults", "tenants/defaults", "tenants/shop/defaults", "tenants/shop/environments/prod", "tenants/shop/environments/dev", "tenants/shop/clusters/shop-1", "tenants/shop/clusters/shop-2", "tenants/bank/defaults")
		name := pick(app, app, app, app, app, "cart-web-x", "card-web", "platform", "new")
		switch r.IntN(6) {
		case 0, 1, 2:
			change[level+"/workloads/"+name+"/values.yaml"+pick("", "", "", ".gotmpl")] = pick("a: 1\n", "replicas: 2\n", "from: {b: 1}\n", "from: [1]\n", "a: {{ .server }}\n", `{{ if .server }}{{ fail "x" }}{{ end }}`, "a: [\n", "- a\n", "a: &x {b: 1}\nc: *x\n", "keep: null\n", "", "a: 0123\n", "{}\n")
		case 3, 4:
			at := level + "/application-sets/workloads.yaml"
			entry := pick("enabled: true", "enabled: false", "enabled: maybe", "namespace: "+pick("cart", "cart-x", "card"), "releaseName: "+pick("x", `"{{ .server }}"`, `"{{ .labels.x }}"`), "values: {a: 1}", "values: {a: '{{ .labels.x }}'}",
				"selector: {matchLabels: {x: y}}", "selector: {matchLabels: {x: [1]}}", "chart: {version: v2}", "chart: {repoURL: "+pick("https://git.example.com/shop/x", "https://evil.example/x")+"}", "null", "kind: manifests", "dependsOn: [workloads/card-web]", "project: default")
			change[at] = files[at] + name + ": {" + entry + "}\n"
			if r.IntN(2) == 0 {
				change[at] = name + ": {" + entry + "}\ncart-web-x: {enabled: true}\n"
			}
		default:
			change[pick("fleet/teams/cart.yaml", "catalogs/workloads.yaml", "workloads/tenants/shop/notes.yaml", "fleet/approvals/x.yaml", "addons/defaults/addons/dns/values.yaml", fleettest.Member("shop-3"))] = pick("", "a: 1\n", files["fleet/teams/cart.yaml"])
		}
	}
	return change
}

// othersCommit is a later commit of the platform or of another team.
func othersCommit(r *rand.Rand, files fleettest.Tree) map[string]string {
	member := func(name, keys string) map[string]string {
		return map[string]string{fleettest.Member(name): "{clusterName: " + name + ", secretManagerSecretName: s, " + keys + "}\n"}
	}
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return member("shop-3", "tenant: shop, environment: prod, labels: {cluster: shop-1}")
	case 2:
		return member("shop-2", "tenant: shop, environment: prod, labels: {x: y}")
	case 3:
		return member("bank-1", "tenant: bank, environment: dev")
	case 4:
		return map[string]string{"catalogs/workloads.yaml": files["catalogs/workloads.yaml"] + "new: {team: card, namespace: card, enabled: true, " + chart + "}\n"}
	case 5:
		return map[string]string{"workloads/defaults/workloads/cart-web/values.yaml": "from: {later: true}\na: {b: 1}\n", "workloads/defaults/workloads/card-web/values.yaml": "a: 1\n"}
	case 6:
		return map[string]string{"workloads/tenants/shop/environments/prod/workloads/card-web/values.yaml": "from: later\n"}
	default:
		return map[string]string{"fleet/teams/cart.yaml": strings.Replace(files["fleet/teams/cart.yaml"], onOne, "{}", 1)}
	}
}

func anyFacts(r *rand.Rand) facts.Set {
	var clusters []facts.Cluster
	for _, name := range []string{"hub", "shop-1", "shop-2", "shop-3", "bank-1"} {
		if r.IntN(3) > 0 {
			clusters = append(clusters, facts.Cluster{Name: name, Server: "https://" + name, Labels: map[string]string{"x": []string{"y", "z"}[r.IntN(2)]}, Annotations: map[string]string{"a": fmt.Sprint(r.IntN(9))}})
		}
	}
	return facts.NewSet(false, clusters...)
}

// answer is all sets of all groups, by Application, and the problems.
func answer(t *testing.T, files fleettest.Tree, f facts.Set) (all map[string]string, problems []string) {
	t.Helper()
	st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), f)
	if err != nil {
		return nil, []string{err.Error()}
	}
	all = map[string]string{}
	for _, g := range groups {
		maps.Copy(all, sets(t, st, g))
	}
	for _, p := range problem.Errors(st.Problems) {
		problems = append(problems, p.Error())
	}
	return all, problems
}

// TestBeyondReach has a row for each rule: a change of one file, and why it is beyond the reach of
// team cart, or nothing.
func TestBeyondReach(t *testing.T) {
	const (
		tenant = "workloads/tenants/shop/defaults/"
		one    = "workloads/tenants/shop/clusters/shop-1/"
		apps   = "application-sets/workloads.yaml"
		values = "workloads/cart-web/values.yaml"
	)
	for name, c := range map[string]struct {
		path, before, after, want string
	}{
		"own values":                       {tenant + values, "a: 1\n", "a: 2\n", ""},
		"own values go":                    {tenant + values, "a: 1\n", "", ""},
		"own entry beside another's":       {tenant + apps, "card-web: {enabled: true}\n", "card-web: {enabled: true}\ncart-web: {releaseName: x}\n", ""},
		"another's entry":                  {tenant + apps, "card-web: {enabled: true}\n", "card-web: {enabled: false}\n", "is not of team cart"},
		"another's number":                 {tenant + apps, "card-web: {releaseName: 0123}\n", "card-web: {releaseName: 83}\n", "is not of team cart"},
		"another's number in quotes":       {tenant + apps, "card-web: {releaseName: 0123}\n", "card-web: {releaseName: '0123'}\n", "is not of team cart"},
		"a template in an entry":           {one + apps, "", "cart-web: {releaseName: '{{ .server }}'}\n", "has a template"},
		"a template of values":             {one + values + ".gotmpl", "", "a: 1\n", "is a template"},
		"a template goes":                  {one + values + ".gotmpl", "a: 1\n", "", ""},
		"on where the team is":             {one + apps, "", "cart-web: {enabled: true}\n", ""},
		"on where the team may not be":     {tenant + apps, "", "cart-web: {enabled: true}\n", "is switched on where other clusters"},
		"off where the team may not be":    {tenant + apps, "", "cart-web: {enabled: false}\n", ""},
		"a catalog of the layout":          {"workloads/defaults/" + apps, "", "cart-web: {releaseName: x}\n", "is not a level's file"},
		"a key beside components":          {tenant + apps, "components: {}\n", "components: {}\ndefaults: {a: 1}\n", "changes beside its components"},
		"a file of no level":               {"workloads/tenants/shop/notes.yaml", "", "a: 1\n", "is not a level's file"},
		"a broken file":                    {tenant + values, "", "a: [\n", "expected"},
		"another tenant's level":           {"workloads/tenants/bank/defaults/" + values, "", "a: 1\n", `team "cart" is of tenant "shop"`},
		"a cluster that is not the team's": {"workloads/tenants/shop/clusters/shop-2/" + values, "", "a: 1\n", "does not reach the cluster"},
	} {
		files := sharedFiles(false)
		files["fleet/layout.yaml"] = strings.Replace(files["fleet/layout.yaml"], "catalogs/workloads.yaml", "catalogs/workloads.yaml, workloads/defaults/application-sets/workloads.yaml", 1)
		files["workloads/defaults/application-sets/workloads.yaml"] = "{}\n"
		base, err := fleetstate.Build(nil, fleettest.Snapshot("base", files), facts.Set{})
		require.NoError(t, err)
		reach, err := mount.NewReach(base.Resolver().Bounds(), "cart")
		require.NoError(t, err)
		file := func(text string) *snapshot.File {
			if text == "" {
				return nil
			}
			return snapshot.NewFile(c.path, []byte(text), snapshot.MaxFileSize)
		}
		got := ""
		for _, p := range reach.Beyond(c.path, file(c.before), file(c.after)) {
			got += p.Error() + "\n"
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q; expected %q", name, got, c.want)
		}
	}
}
