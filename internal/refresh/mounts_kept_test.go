package refresh_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// startServed starts with both mounts at their first commits.
func startServed(t *testing.T, more map[string]string, judge refresh.Judge, options ...func(*refresh.Options)) *mountHarness {
	t.Helper()
	h := startMounts(t, nil, judge, options...)
	h.say(mounting("m1", more), nil)
	h.report("apps/cart", commit("cart1", "cart", 3), nil)
	h.report("apps/card", commit("card1", "card", 1), nil)
	h.serves("apps/cart", "cart1")
	h.serves("apps/card", "card1")
	return h
}

// startOverridden starts with a mount that switches its component on for one cluster alone.
func startOverridden(t *testing.T, kept *store.Store) *mountHarness {
	t.Helper()
	h := startMounts(t, kept, nil)
	h.say(mounting("m1", nil), nil)
	h.report("apps/cart", fleettest.Snapshot("cart1", fleettest.Tree{
		"defaults/application-sets/workloads.yaml":                     "cart-web: {enabled: false}\n",
		"tenants/shop/clusters/cart-1/application-sets/workloads.yaml": "cart-web: {enabled: true}\n",
		"defaults/workloads/cart-web/values.yaml":                      "replicas: 3\n",
	}), nil)
	h.report("apps/card", commit("card1", "card", 1), nil)
	h.serves("apps/cart", "cart1")
	h.serves("apps/card", "card1")
	return h
}

// refuses has a mount report a commit that leaves its bounds.
func (h *mountHarness) refuses(path string) {
	h.Helper()
	h.report(path, fleettest.Snapshot("bad", fleettest.Tree{"fleet/layout.yaml": "x: 1\n"}), nil)
	h.mount(path, "is refused", func(m refresh.Mount) bool { return m.Reason == "mount-bounds" })
}

// servesFleet has the fleet repository report a commit, and waits until it is served, with members
// in quarantine or without.
func (h *mountHarness) servesFleet(revision string, more map[string]string, quarantines bool) refresh.Status {
	h.Helper()
	h.say(mounting(revision, more), nil)
	return h.until("serving "+revision, func(st refresh.Status) bool {
		return strings.HasPrefix(st.Revision, revision+"+") && (len(st.Quarantined) > 0) == quarantines
	})
}

// What the fleet repository breaks for a time takes nothing from a mount, whatever the newest
// commit of the mount is. (U2, G1)
func TestMountOutlivesErrorsOfTheFleetRepository(t *testing.T) {
	for name, c := range map[string]struct {
		broken      map[string]string
		quarantines bool
		during      string
	}{
		"a team file with errors":     {map[string]string{"fleet/teams/cart.yaml": "name: cart\ntenant: shop\nowners: [\n"}, true, "3"},
		"an unreadable member file":   {map[string]string{fleettest.Member("cart-1"): "{clusterName: cart-1\n"}, true, "3"},
		"a component of another team": {map[string]string{"catalogs/workloads.yaml": "cart-web: {team: card, namespace: card, chart: {repoURL: https://git.example.com/x, path: web, version: main}}\ncard-web: {team: card, namespace: card, chart: {repoURL: https://git.example.com/x, path: web, version: main}}\n"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := startOverridden(t, nil)
			h.refuses("apps/cart")
			h.servesFleet("m2", c.broken, c.quarantines)
			if got := h.replicas("cart-web"); got != c.during {
				t.Errorf("meanwhile: %q replicas", got)
			}
			h.servesFleet("m3", nil, false)
			if got := h.replicas("cart-web"); got != "3" {
				t.Errorf("%q replicas", got)
			}
		})
	}
}

// So it is over a restart, while the mount is away. (U2, G1)
func TestMountOutlivesErrorsOverARestart(t *testing.T) {
	for name, broken := range map[string]map[string]string{
		"a team file with errors":   {"fleet/teams/cart.yaml": "name: [\n"},
		"an unreadable member file": {fleettest.Member("cart-1"): "{clusterName: cart-1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			kept, _ := storetest.New()
			h := startOverridden(t, kept)
			h.refuses("apps/cart")
			h.servesFleet("m2", broken, true)
			require.NoError(t, h.r.Stop())
			again := startMounts(t, kept, nil)
			again.report("apps/cart", nil, errors.New("away"))
			again.servesFleet("m3", nil, false)
			if got := again.replicas("cart-web"); got != "3" {
				t.Errorf("%q replicas", got)
			}
		})
	}
}

// A commit of a mount that breaks a member is refused, also while the member has another error.
// (U2)
func TestBrokenMemberExcusesNoMount(t *testing.T) {
	h := startServed(t, nil, nil)
	h.servesFleet("m2", map[string]string{fleettest.Member("cart-1"): "{clusterName: cart-1\n"}, true)
	h.report("apps/cart", fleettest.Snapshot("cart2", fleettest.Tree{
		"defaults/application-sets/workloads.yaml":       "cart-web: {enabled: true}\n",
		"defaults/workloads/cart-web/values.yaml.gotmpl": "a: {{ .nothing }}\n",
	}), nil)
	if m := h.mount("apps/cart", "is judged", func(m refresh.Mount) bool { return m.IsStale() || m.Revision == "cart2" }); m.Revision != "cart1" {
		t.Errorf("it is accepted: %+v", m)
	}
	h.servesFleet("m3", nil, false)
}

// Commits of two mounts that come in one step are judged one after the other: each is within the
// budget, and no response is refused. (G10)
func TestMountsOfOneStepAreJudgedEachAlone(t *testing.T) {
	g, err := guard.New(guard.Options{Hub: "hub", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	k := newKnown(true, cluster("hub"), cluster("blue-1"), cluster("card-1"), cluster("cart-1"))
	h := startServed(t, map[string]string{
		"fleet/teams/card.yaml":    "name: card\ntenant: other\nowners: [o]\nclusters: {matchLabels: {cluster: card-1}}\nnamespaces: [{name: card, preset: small}]\nrepositories: [https://git.example.com/*]\n",
		fleettest.Member("card-1"): "{clusterName: card-1, tenant: other, environment: prod, secretManagerSecretName: s}\n",
	}, g, func(o *refresh.Options) {
		o.Facts = k
		o.Observe = func(out refresh.Outcome) {
			if out.Swapped {
				g.Serving(out.State)
			}
		}
	})
	ask := func(component string) error {
		_, err := g.Response(context.Background(), h.r.State(), query.Query{View: query.Components, Hub: "hub", Group: "workloads", Component: component})
		return err
	}
	for _, component := range []string{"cart-web", "card-web"} {
		require.NoError(t, ask(component))
	}
	k.mu.Lock()   // so that the next step begins once both have been read
	for range 2 { // the second is taken in after the first
		for _, team := range []string{"cart", "card"} {
			h.report("apps/"+team, fleettest.Snapshot(team+"2", fleettest.Tree{"defaults/workloads/" + team + "-web/values.yaml": "a: 1\n"}), nil)
		}
	}
	k.mu.Unlock()
	h.serves("apps/cart", "cart2")
	h.serves("apps/card", "card2")
	for _, component := range []string{"cart-web", "card-web"} {
		assert.NoError(t, ask(component), "%s", component)
	}
}

// The first commit of a mount that takes its tenant beyond the budget is refused: members that do
// not wait for the mount go on. (U2, W2)
func TestFirstCommitOfAMountStopsNoTenant(t *testing.T) {
	more := map[string]string{"fleet/teams/cart.yaml": "name: cart\ntenant: shop\nowners: [o]\nclusters: {matchExpressions: [{key: cluster, operator: In, values: [cart-1, cart-2, cart-3, cart-4, cart-5]}]}\n" +
		"namespaces: [{name: cart, preset: small}]\nrepositories: [https://git.example.com/*]\n"}
	for i := 2; i <= 5; i++ {
		more[fleettest.Member(fmt.Sprint("cart-", i))] = fmt.Sprintf("{clusterName: cart-%d, tenant: shop, environment: prod, secretManagerSecretName: s}\n", i)
	}
	h := startMounts(t, nil, nil)
	h.say(mounting("m1", more), nil)
	h.report("apps/card", commit("card1", "card", 1), nil)
	h.serves("apps/card", "card1")
	heavy := fleettest.Tree{"defaults/application-sets/workloads.yaml": "cart-web: {enabled: true}\n"}
	for _, level := range []string{"defaults", "tenants/defaults", "tenants/shop/defaults", "tenants/shop/environments/prod"} {
		heavy[level+"/workloads/cart-web/values.yaml.gotmpl"] = `# {{ repeat 1000000 "x" }}` + "\n" // 4 MB a member, 20 MB the tenant
	}
	h.report("apps/cart", fleettest.Snapshot("cart1", heavy), nil)
	if m := h.mount("apps/cart", "is judged", func(m refresh.Mount) bool { return m.Reason != "mount-not-read" }); m.Reason != "tenant-budget" {
		t.Errorf("it is accepted: %+v", m)
	}
	for _, q := range h.r.Status().Quarantined {
		if q.Member == "card-1" {
			t.Errorf("%+v", q)
		}
	}
}

// A mount whose path changes goes on from its last known good commit. (U2)
func TestRenamedMountKeepsItsCommit(t *testing.T) {
	h := startServed(t, nil, nil)
	h.mu.Lock()
	h.sources["shop/cart"] = fleettest.NewSource() // which is away
	h.mu.Unlock()
	h.servesFleet("m2", map[string]string{"fleet/layout.yaml": "groups:\n  workloads: {catalog: [catalogs/workloads.yaml]}\n  teams: {root: addons, catalog: [catalogs/teams.yaml]}\n" +
		"mounts:\n  shop/cart: {url: \"https://git.example.com/cart\", team: cart}\n  apps/card: {url: \"https://git.example.com/card\", team: card}\n"}, false)
	if got := h.replicas("cart-web"); got != "3" {
		t.Errorf("%q replicas", got)
	}
}

// judging calls a function for each candidate.
type judging func(desired *fleetstate.State)

func (judging) Await(context.Context) bool { return true }

func (j judging) Holds(_, desired *fleetstate.State) []fleetstate.Hold { j(desired); return nil }

// A first commit that comes while another mount's is judged has not been read yet, as Status says:
// of a mount without a revision it never says that it is served. (U2)
func TestMountThatComesWhileAnotherIsJudgedIsNotServed(t *testing.T) {
	var h *mountHarness
	var once sync.Once
	seen := make(chan refresh.Mount, 10)
	h = startMounts(t, nil, judging(func(desired *fleetstate.State) {
		if part, _ := desired.Resolver().Snapshot.Part("apps/cart"); part.Revision == "cart1" {
			once.Do(func() {
				for range 2 { // the second is taken in after the first
					h.report("apps/card", commit("card1", "card", 1), nil)
				}
			})
		}
	}), func(o *refresh.Options) {
		o.Observe = func(refresh.Outcome) {
			for _, m := range h.r.Status().Mounts {
				if m.Path == "apps/card" {
					seen <- m
				}
			}
		}
	})
	h.say(mounting("m1", nil), nil)
	h.mount("apps/card", "is not read", func(m refresh.Mount) bool { return m.Revision == "" })
	h.report("apps/cart", commit("cart1", "cart", 1), nil)
	h.serves("apps/card", "card1")
	for m := range seen {
		if m.Revision != "" {
			return
		}
		assert.Equal(t, "mount-not-read", m.Reason, "%+v", m)
	}
}
