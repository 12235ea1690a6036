package refresh_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	fleetpkg "github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// mounting is a fleet whose layout mounts the repositories of teams cart and card, each of which
// has a component and a member of its own; blue-1 is another tenant's.
func mounting(revision string, more map[string]string) *snapshot.Snapshot {
	const chart = "chart: {repoURL: https://git.example.com/x, path: web, version: main}"
	files := fleettest.Tree{
		"fleet/layout.yaml": "guard: {window: 0s}\ngroups:\n  workloads: {catalog: [catalogs/workloads.yaml]}\n  teams: {root: addons, catalog: [catalogs/teams.yaml]}\n" +
			"mounts:\n  apps/cart: {url: \"https://git.example.com/cart\", team: cart}\n  apps/card: {url: \"https://git.example.com/card\", team: card}\n",
		"versions/applicationSets.yaml": "releases: {}\n",
		"versions/fleetSecrets.yaml":    "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n",
		"catalogs/teams.yaml":           "team: {" + chart + "}\nteam-project: {" + chart + "}\n",
		fleettest.Member("hub"):         "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		fleettest.Member("blue-1"):      "{clusterName: blue-1, tenant: blue, environment: prod, secretManagerSecretName: s}\n",
	}
	for _, team := range []string{"cart", "card"} {
		files["fleet/teams/"+team+".yaml"] = "name: " + team + "\ntenant: shop\nowners: [o]\nclusters: {matchLabels: {cluster: " + team + "-1}}\nnamespaces: [{name: " + team + ", preset: small}]\nrepositories: [https://git.example.com/*]\n"
		files["catalogs/workloads.yaml"] += team + "-web: {team: " + team + ", namespace: " + team + ", " + chart + "}\n"
		files[fleettest.Member(team+"-1")] = "{clusterName: " + team + "-1, tenant: shop, environment: prod, secretManagerSecretName: s}\n"
	}
	return fleettest.Snapshot(revision, files.With(more))
}

// commit is a commit of team's repository that says replicas.
func commit(revision, team string, replicas int) *snapshot.Snapshot {
	return fleettest.Snapshot(revision, fleettest.Tree{
		"defaults/application-sets/workloads.yaml":        team + "-web: {enabled: true}\n",
		"defaults/workloads/" + team + "-web/values.yaml": fmt.Sprintf("replicas: %d\n", replicas),
	})
}

type mountHarness struct {
	*harness
	mu      sync.Mutex
	sources map[string]*fleettest.Source // by path
}

func startMounts(t *testing.T, kept *store.Store, judge refresh.Judge, options ...func(*refresh.Options)) *mountHarness {
	t.Helper()
	h := &mountHarness{sources: map[string]*fleettest.Source{"apps/cart": fleettest.NewSource(), "apps/card": fleettest.NewSource()}}
	main := fleettest.NewSource()
	o := refresh.Options{
		Source: main, Hub: "hub", Store: kept, Judge: judge, Logger: slog.New(slog.DiscardHandler), Patience: time.Millisecond,
		Mounts: func(m fleetpkg.Mount) (source.Source, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.sources[m.Path], nil
		},
	}
	for _, set := range options {
		set(&o)
	}
	r, err := refresh.New(o)
	require.NoError(t, err)
	r.Start(context.Background())
	t.Cleanup(func() {
		assert.NoError(t, r.Stop())
	})
	h.harness = &harness{T: t, r: r, s: main}
	return h
}

// report has a mount report a commit or an error.
func (h *mountHarness) report(path string, s *snapshot.Snapshot, err error) {
	h.sources[path].Reports <- fleettest.Report{Snapshot: s, Err: err}
}

// mount waits for a status of a mount.
func (h *mountHarness) mount(path, what string, ok func(refresh.Mount) bool) refresh.Mount {
	h.Helper()
	var out refresh.Mount
	h.until(path+" "+what, func(st refresh.Status) bool {
		for _, m := range st.Mounts {
			if m.Path == path && ok(m) {
				out = m
				return true
			}
		}
		return false
	})
	return out
}

func (h *mountHarness) serves(path, revision string) {
	h.Helper()
	h.mount(path, "serves "+revision, func(m refresh.Mount) bool { return m.Revision == revision && !m.IsStale() })
}

// replicas are those of a component, empty where it is not answered.
func (h *mountHarness) replicas(component string) string {
	h.Helper()
	out, err := response.Bytes(h.r.State(), query.Query{View: query.Components, Hub: "hub", Group: "workloads"})
	if err != nil {
		return err.Error()
	}
	_, rest, found := strings.Cut(string(out), `"component":"`+component+`"`)
	if !found {
		return ""
	}
	_, rest, _ = strings.Cut(rest, `replicas: `)
	return rest[:1]
}

// TestMountStaysAtItsLastKnownGoodCommit is U2: a mount that is away, leaves its bounds or breaks a
// member stays on its last known good commit, says since when and why, and nobody else notices.
func TestMountStaysAtItsLastKnownGoodCommit(t *testing.T) {
	h := startMounts(t, nil, nil)
	h.say(mounting("m1", nil), nil)
	h.report("apps/cart", commit("cart1", "cart", 1), nil)
	h.report("apps/card", commit("card1", "card", 1), nil)
	h.serves("apps/cart", "cart1")
	h.serves("apps/card", "card1")
	if h.replicas("cart-web") != "1" || h.replicas("card-web") != "1" {
		t.Fatal(h.replicas("cart-web"), h.replicas("card-web"))
	}
	for i, c := range []struct {
		what, reason string
		files        map[string]string
		err          error
	}{
		{"away", "unreachable", nil, &source.Error{Reason: source.Unreachable, Source: "git", Detail: "away"}},
		{"out of bounds", "mount-bounds", map[string]string{"fleet/layout.yaml": "x: 1\n"}, nil},
		{"no YAML", "invalid-yaml", map[string]string{"defaults/workloads/cart-web/values.yaml": "a: [\n"}, nil},
		{"a failing template", "template-failed", map[string]string{"defaults/workloads/cart-web/values.yaml.gotmpl": "a: {{ .nothing }}\n"}, nil},
		{"no chart", "incomplete-catalog", map[string]string{"defaults/application-sets/workloads.yaml": "cart-web: {enabled: true, chart: {name: x}}\n"}, nil},
	} {
		var next *snapshot.Snapshot
		if c.err == nil {
			next = fleettest.Snapshot(fmt.Sprint("bad", i), fleettest.Tree{"defaults/application-sets/workloads.yaml": "cart-web: {enabled: true}\n"}.With(c.files))
		}
		h.report("apps/cart", next, c.err)
		stale := h.mount("apps/cart", c.what, func(m refresh.Mount) bool { return m.Reason == c.reason })
		if stale.Revision != "cart1" || stale.Since.IsZero() || h.replicas("cart-web") != "1" {
			t.Errorf("%s: %+v, replicas %s", c.what, stale, h.replicas("cart-web"))
		}
		// Meanwhile the other team and the platform go on.
		card := fmt.Sprint("card2", i)
		h.report("apps/card", commit(card, "card", 2+i), nil)
		h.serves("apps/card", card)
		revision := fmt.Sprint("m2", i)
		h.say(mounting(revision, map[string]string{"workloads/defaults/workloads/cart-web/values.yaml": "from: " + revision + "\n"}), nil)
		st := h.until("serving "+revision, func(st refresh.Status) bool { return strings.HasPrefix(st.Revision, revision+"+") })
		if len(st.Quarantined) > 0 || len(st.Refused) > 0 || h.replicas("card-web") != fmt.Sprint(2+i) || h.replicas("cart-web") != "1" {
			t.Errorf("%s: %+v, replicas %s", c.what, st, h.replicas("card-web"))
		}
		h.mount("apps/cart", "is still "+c.what, func(m refresh.Mount) bool { return m.Reason == c.reason })
	}
	h.report("apps/cart", commit("cart2", "cart", 9), nil)
	h.serves("apps/cart", "cart2")
	assert.Equal(t, "9", h.replicas("cart-web"))
}

// TestRestartServesMountsAsBefore: the checkpoint holds the mounts' files, so that a restart with
// every server away is the same state; and it takes the next commit.
func TestRestartServesMountsAsBefore(t *testing.T) {
	dir := t.TempDir()
	h := startMounts(t, folder(t, dir), nil)
	h.say(mounting("m1", nil), nil)
	h.report("apps/cart", commit("cart1", "cart", 3), nil)
	h.serves("apps/cart", "cart1")
	served := h.r.State().Revision
	h.mount("apps/card", "is not read", func(m refresh.Mount) bool { return m.Reason == "mount-not-read" })
	assert.Contains(t, h.replicas("cart-web"), "card-1", "nothing is known of a mount, and the answer")
	require.NoError(t, h.r.Stop())

	again := startMounts(t, folder(t, dir), nil)
	away := errors.New("away")
	again.say(nil, away)
	again.until("serving", func(st refresh.Status) bool { return st.Revision == served })
	again.report("apps/cart", nil, away)
	again.mount("apps/cart", "is away", func(m refresh.Mount) bool { return m.Revision == "cart1" && m.IsStale() })
	again.report("apps/card", commit("card1", "card", 1), nil)
	again.serves("apps/card", "card1")
	if again.replicas("cart-web") != "3" || again.replicas("card-web") != "1" {
		t.Error(again.replicas("cart-web"), again.replicas("card-web"))
	}
	again.report("apps/cart", commit("cart2", "cart", 4), nil)
	again.serves("apps/cart", "cart2")
}

// TestMountDoesNotGoBackWhileItIsAway: while a mount's server is away, a restart serves the commit
// that was accepted, and not the one that the mount had last before it. (U2, rule 8)
func TestMountDoesNotGoBackWhileItIsAway(t *testing.T) {
	kept, _ := storetest.New()
	h := startMounts(t, kept, nil)
	h.say(mounting("m1", nil), nil)
	h.report("apps/cart", commit("cart2", "cart", 4), nil)
	h.serves("apps/cart", "cart2")
	require.NoError(t, h.r.Stop())
	again := startMounts(t, kept, nil)
	again.say(mounting("m1", nil), nil)
	again.report("apps/cart", commit("cart1", "cart", 3), errors.New("away"))
	again.mount("apps/cart", "is away", func(m refresh.Mount) bool { return m.IsStale() })
	again.report("apps/card", commit("card1", "card", 1), nil)
	again.serves("apps/card", "card1")
	if got := again.replicas("cart-web"); got != "4" {
		t.Errorf("%s replicas", got)
	}
	again.report("apps/cart", commit("cart1", "cart", 3), nil) // it has gone back itself
	again.serves("apps/cart", "cart1")
}

// TestRefusedMountIsTriedWithNewFacts: a mount's commit that lacks a label of a cluster is served
// once the cluster has it, without another commit. (U2)
func TestRefusedMountIsTriedWithNewFacts(t *testing.T) {
	clusters := func(labels ...string) []facts.Cluster {
		return []facts.Cluster{cluster("hub"), cluster("blue-1"), cluster("card-1"), cluster("cart-1", labels...)}
	}
	k := newKnown(true, clusters()...)
	h := startMounts(t, nil, nil, func(o *refresh.Options) { o.Facts = k })
	h.say(mounting("m1", nil), nil)
	h.report("apps/cart", commit("cart1", "cart", 3), nil)
	h.report("apps/card", commit("card1", "card", 1), nil)
	h.serves("apps/cart", "cart1")
	h.report("apps/cart", fleettest.Snapshot("cart2", fleettest.Tree{
		"defaults/application-sets/workloads.yaml":       "cart-web: {enabled: true}\n",
		"defaults/workloads/cart-web/values.yaml.gotmpl": "replicas: {{ .labels.replicas }}\n",
	}), nil)
	h.mount("apps/cart", "is refused", func(m refresh.Mount) bool { return m.IsStale() && m.Revision == "cart1" })
	k.say(clusters("replicas", "7")...)
	h.serves("apps/cart", "cart2")
	if got := h.replicas("cart-web"); got != "7" {
		t.Errorf("%s replicas", got)
	}
}

// A commit of a mount that breaks a member is refused, also where another mount is read for the
// first time in the same step. (U2)
func TestFirstReadOfAMountExcusesNoOther(t *testing.T) {
	k := newKnown(true, cluster("hub"), cluster("blue-1"), cluster("card-1"), cluster("cart-1"))
	h := startMounts(t, nil, nil, func(o *refresh.Options) { o.Facts = k })
	h.say(mounting("m1", nil), nil)
	h.report("apps/cart", commit("cart1", "cart", 3), nil)
	h.serves("apps/cart", "cart1")
	k.mu.Lock() // so that the next step begins once both have been read
	h.report("apps/card", commit("card1", "card", 1), nil)
	for range 2 { // the second is taken in after the first
		h.report("apps/cart", fleettest.Snapshot("cart2", fleettest.Tree{
			"defaults/application-sets/workloads.yaml":       "cart-web: {enabled: true}\n",
			"defaults/workloads/cart-web/values.yaml.gotmpl": "replicas: {{ .labels.replicas }}\n",
		}), nil)
	}
	k.mu.Unlock()
	h.serves("apps/card", "card1")
	h.mount("apps/cart", "is refused", func(m refresh.Mount) bool { return m.IsStale() && m.Revision == "cart1" })
}

// A mount that a served fleet did not have holds nothing until it is read: no member waits for it.
func TestNewMountConcernsNobodyUntilItIsRead(t *testing.T) {
	h := startMounts(t, nil, nil)
	layout := map[string]string{"fleet/layout.yaml": "groups:\n  workloads: {catalog: [catalogs/workloads.yaml]}\n  teams: {root: addons, catalog: [catalogs/teams.yaml]}\n"}
	h.say(mounting("m1", layout), nil)
	h.until("serving", func(st refresh.Status) bool { return st.Revision == "m1" })
	h.say(mounting("m2", nil), nil)
	st := h.until("mounting", func(st refresh.Status) bool { return len(st.Mounts) == 2 })
	if len(st.Quarantined) > 0 || h.replicas("cart-web") != "" {
		t.Errorf("%+v %s", st, h.replicas("cart-web"))
	}
	h.report("apps/cart", commit("cart1", "cart", 1), nil)
	h.serves("apps/cart", "cart1")
	h.r.Trigger() // as a webhook of any of the repositories
	<-h.sources["apps/cart"].Refreshes
	<-h.sources["apps/card"].Refreshes
}

// holdsShop holds tenant shop if cart-web goes, as the guard does beyond the budget.
type holdsShop struct{}

func (holdsShop) Await(context.Context) bool { return true }

func (holdsShop) Holds(previous, desired *fleetstate.State) []fleetstate.Hold {
	if previous == nil || len(previous.ComponentsOf("hub", "cart-1", "workloads")) == 0 || enabled(desired) || !enabled(previous) {
		return nil
	}
	return []fleetstate.Hold{{Hub: "hub", Tenant: "shop", Members: []string{"cart-1", "card-1"}, Message: "too much"}}
}

func enabled(st *fleetstate.State) bool {
	c := st.Cluster("hub", "cart-1")
	r, _ := st.ResolverOf(c).Resolve(c, c.Groups["workloads"], "cart-web", nil)
	return r.Enabled
}

// A mount's commit that removes more than the budget stays out, and its tenant is not held.
func TestMountsRemovalHoldsNoTenant(t *testing.T) {
	h := startMounts(t, nil, holdsShop{})
	h.say(mounting("m1", nil), nil)
	h.report("apps/cart", commit("cart1", "cart", 1), nil)
	h.report("apps/card", commit("card1", "card", 1), nil)
	h.serves("apps/cart", "cart1")
	h.serves("apps/card", "card1")
	h.report("apps/cart", fleettest.Snapshot("cart2", fleettest.Tree{"defaults/workloads/cart-web/values.yaml": "a: 1\n"}), nil)
	h.mount("apps/cart", "is refused", func(m refresh.Mount) bool { return m.Reason == "removal-refused" && m.Revision == "cart1" })
	if len(h.r.State().Holds("")) > 0 || len(h.r.Status().Quarantined) > 0 || h.replicas("cart-web") != "1" {
		t.Errorf("%+v", h.r.Status())
	}
}
