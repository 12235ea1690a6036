package team_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func parse(text string) *team.Team {
	file := snapshot.NewFile("fleet/teams/cart.yaml", []byte(text), snapshot.MaxFileSize)
	doc, err := yamldoc.Parse(file.Path, file.Data)
	return team.Parse(file, doc, err)
}

const good = `name: cart
tenant: shop
owners: [shop-cart]
clusters: {matchLabels: {tier: gold}}
namespaces: [{name: cart, preset: small}, {prefix: cart-preview-}]
repositories: ["https://git.example.com/cart/*"]
`

func TestGoodFile(t *testing.T) {
	if got := parse(good); len(got.Problems) > 0 || got.Component() != "team-cart" || got.Tenant != "shop" {
		t.Errorf("%s of %s: %v", got.Component(), got.Tenant, got.Problems)
	}
}

// Each value that Argo CD or Kubernetes would take for more than it says is refused at its place.
func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ old, replacement, want string }{
		{"name: cart\n", "name: card\n", `fleet/teams/cart.yaml:1:7: key "name": "card"; expected "cart"`},
		{"name: cart\n", "", `key "name": missing or empty`},
		{"tenant: shop", "tenant: Shop", `key "tenant": "Shop" is not a DNS-1123 label`},
		{"owners:", "owner:", `"owners"`},
		{"[shop-cart]", "[]", `key "owners": missing or empty`},
		{"[shop-cart]", `["a, proj:team-b:owner"]`, "is not a group's name"},
		{"[shop-cart]", `["system:authenticated"]`, "is a group of Kubernetes itself"},
		{"[shop-cart]", "[{a: b}]", "is a map; expected text"},
		{"{matchLabels: {tier: gold}}", "", "expected a selector; {} selects all"},
		{"{matchLabels: {tier: gold}}", "{matchLabel: {tier: gold}}", `"matchLabels"`},
		{"{matchLabels: {tier: gold}}", "{matchLabels: {tier: null}}", "is null; expected text"},
		{"{name: cart, preset: small}", "{name: cart}", `key "namespaces[0].preset": "" names no preset`},
		{"{name: cart, preset: small}", "{name: cart, prefix: cart-}", "has not exactly one of name and prefix"},
		{"{name: cart, preset: small}", "{name: '*', preset: small}", `"*" names no namespace`},
		{"{name: cart, preset: small}", "{name: kube-system, preset: small}", "belongs to Kubernetes itself"},
		{"{prefix: cart-preview-}", "{prefix: cart}", `"cart" names no namespace`},
		{"{prefix: cart-preview-}", "{prefix: kube-}", "belongs to Kubernetes itself"},
		{"{prefix: cart-preview-}", "{prefix: a-, preset: small}", "is given for a prefix"},
		{"{prefix: cart-preview-}", "{name: cart, preset: small}", `"cart" is claimed again`},
		{"https://git.example.com/cart/*", "*", "leaves the host open"},
		{"https://git.example.com/cart/*", "https://*/cart", "leaves the host open"},
		{"https://git.example.com/cart/*", "https://git.example.com", "leaves the host open"},
		{"https://git.example.com/cart/*", "!https://git.example.com/x", "is not a repository"},
		{"repositories:", "deniedKinds: [{group: batch}]\nrepositories:", `key "deniedKinds[0].kind": missing or empty`},
		{"repositories:", "deniedKinds: [{group: '{a,b}', kind: A}]\nrepositories:", `key "deniedKinds[0].group": "{a,b}"; expected a name, in which * is any text and ? a character`},
	} {
		text := strings.Replace(good, c.old, c.replacement, 1)
		var got strings.Builder
		for _, p := range parse(text).Problems {
			fmt.Fprintf(&got, "%v: %v did you mean %q?\n", p.Pos, p.Error(), p.Hints)
		}
		assert.Contains(t, got.String(), c.want, "%q for %q", c.replacement, c.old)
	}
}

// TestNoTeamReachesAnothers is T2: whatever the names of tenants, clusters, teams and namespaces,
// no team reaches a cluster of another tenant, and no two teams share a namespace of a cluster
// without a problem there. `make walls` tries 20,000 sets.
func TestNoTeamReachesAnothers(t *testing.T) {
	names := []string{"a", "a-b", "a-b-c", "b", "b-c", "ab"}
	conflicts, reached := 0, 0
	for seed := range cases.Times(200) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		few := func() string { return names[r.IntN(2)] }
		name := func() string { return names[r.IntN(len(names))] }
		files := fleettest.Tree{
			"versions/applicationSets.yaml": "releases: {}\n",
			"versions/fleetSecrets.yaml":    "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n",
			fleettest.Member("hub"):         "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		}
		for range 4 {
			cluster := name()
			files[fleettest.Member(cluster)] = fmt.Sprintf("{clusterName: %s, tenant: %s, environment: %s}\n", cluster, few(), few())
		}
		s := fleettest.Snapshot("r", files)
		f, err := fleet.Load(s, hierarchy.NewCache(), nil)
		require.NoError(t, err)
		var teams []*team.Team
		type claim struct{ tenant, namespace string }
		claims := map[string]claim{}
		for _, n := range names[:3] {
			c := claim{few(), name()}
			namespace := "{name: " + c.namespace + ", preset: small}"
			if r.IntN(2) == 0 {
				c.namespace += "-"
				namespace = "{prefix: " + c.namespace + "}"
			}
			claims[n] = c
			path := team.Folder + "/" + n + ".yaml"
			text := fmt.Sprintf("name: %s\ntenant: %s\nowners: [o]\nclusters: {%s}\nnamespaces: [%s]\nrepositories: [https://git/x]\n", n, c.tenant, []string{"", "matchLabels: {environment: " + few() + "}"}[r.IntN(2)], namespace)
			file := snapshot.NewFile(path, []byte(text), snapshot.MaxFileSize)
			doc, err := yamldoc.Parse(path, file.Data)
			made := team.Parse(file, doc, err)
			if len(made.Problems) > 0 {
				t.Fatal(made.Problems)
			}
			teams = append(teams, made)
		}
		table := team.Compute(f, teams, nil)
		onHub := map[string][]string{}
		for _, tm := range teams {
			for _, l := range table.Of(f.HubMember("hub")).Values(tm.Component()) {
				for _, cluster := range l.Root.Get("team").Get("clusters").Items() {
					reached++
					onHub[cluster.Text()] = append(onHub[cluster.Text()], tm.Name)
					if m := f.Member("hub", cluster.Text()); m == nil || m.Tenant != tm.Tenant || m.IsHub {
						t.Fatalf("seed %d: team %s of %s reaches %s", seed, tm.Name, tm.Tenant, cluster.Text())
					}
				}
			}
		}
		for _, m := range f.Members("hub") {
			share := table.Of(m)
			var here []string
			for _, tm := range teams {
				if !m.IsHub && share.Values(tm.Component()) != nil {
					here = append(here, tm.Name)
				}
			}
			if !m.IsHub && !slices.Equal(here, onHub[m.Name]) {
				t.Fatalf("seed %d: %s has %v, and the projects of %v reach it", seed, m.Name, here, onHub[m.Name])
			}
			isShared := false
			for i, a := range here {
				for _, b := range here[:i] {
					isShared = isShared || overlap(claims[a].namespace, claims[b].namespace)
				}
			}
			if m.IsHub {
				continue
			}
			if got := share != nil && len(share.Problems) > 0; got != isShared {
				t.Fatalf("seed %d: %s: teams %v with %v: conflict %t", seed, m.Name, here, claims, got)
			}
			if isShared {
				conflicts++
				if len(table.Of(f.HubMember("hub")).Problems) == 0 {
					t.Fatalf("seed %d: the hub's projects share a namespace of %s", seed, m.Name)
				}
			}
		}
	}
	if conflicts == 0 || reached == 0 {
		t.Errorf("%d conflicts, %d clusters reached: the sets do not test much", conflicts, reached)
	}
}

// overlap is the oracle: whether some namespace fits both patterns, a prefix ending with a hyphen.
func overlap(a, b string) bool {
	fits := func(pattern, name string) bool {
		return pattern == name || strings.HasSuffix(pattern, "-") && strings.HasPrefix(name, pattern)
	}
	for _, name := range []string{a, b, a + "x", b + "x"} {
		if !strings.HasSuffix(name, "-") && fits(a, name) && fits(b, name) {
			return true
		}
	}
	return false
}
