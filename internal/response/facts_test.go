package response_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// What a hub knew before a change is not what it knows afterwards: the change registers members,
// and takes back what Git had declared for a Secret.
func TestSettledFactsFollowTheRegistration(t *testing.T) {
	type labels = map[string]string
	live := func(of labels, names ...string) facts.Set {
		clusters := []facts.Cluster{{Name: "one", Labels: of, Annotations: of}}
		for _, name := range names {
			clusters = append(clusters, facts.Cluster{Name: name, Labels: labels{"by": "terraform"}})
		}
		return facts.NewSet(true, clusters...)
	}
	declares := func(what string) fleettest.Tree {
		return fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "labels:\n  "+what+"\nannotations:\n  "+what+"\n")}
	}
	gone := fleettest.Tree{fleettest.Member("two"): ""}
	for name, c := range map[string]struct {
		base, head fleettest.Tree
		known      facts.Set
		want       facts.Set
	}{
		"a member begins":                                    {gone, nil, live(nil, "hub"), live(nil, "hub").WithClusters(facts.Cluster{Name: "one"}, facts.Cluster{Name: "two"}, facts.Cluster{Name: "hub", Labels: labels{"by": "terraform"}})},
		"a member comes back":                                {fleettest.Tree{fleettest.Member("two"): fleettest.Spoke("two", "lifecycle: retired\n")}, nil, live(nil), live(nil).WithClusters(facts.Cluster{Name: "one"}, facts.Cluster{Name: "two"})},
		"a member begins to retire":                          {gone, fleettest.Tree{fleettest.Member("two"): fleettest.Spoke("two", "lifecycle: retired\n")}, live(nil), live(nil)},
		"a member that nobody has registered":                {nil, nil, live(nil), live(nil)},
		"a member retires":                                   {nil, fleettest.Tree{fleettest.Member("two"): fleettest.Spoke("two", "lifecycle: retired\n")}, live(nil, "two"), live(nil, "two")},
		"a member is gone":                                   {nil, gone, live(nil, "two"), live(nil, "two")},
		"Git says no more":                                   {declares("tier: gold"), nil, live(labels{"tier": "gold", "region": "eu"}), live(labels{"region": "eu"})},
		"Git says another":                                   {declares("tier: gold"), declares("tier: silver"), live(labels{"tier": "gold"}), live(labels{"tier": "gold"})},
		"somebody else says otherwise":                       {declares("tier: gold"), nil, live(labels{"tier": "iron"}), live(labels{"tier": "iron"})},
		"facts that are not of a hub":                        {gone, nil, facts.Set{}, facts.Set{}},
		"what Git says is not yet in the Secret, or no more": {declares("tier: gold"), nil, live(labels{"region": "eu"}), live(labels{"region": "eu"})},
	} {
		t.Run(name, func(t *testing.T) {
			base, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(c.base)), c.known)
			require.NoError(t, err)
			head, err := fleetstate.Build(base, fleettest.Snapshot("rev", fleettest.Small().With(c.head)), c.known)
			require.NoError(t, err)
			got, changed := lifecycle.SettledFacts(head, base)
			if !got.EqualClusters(c.want) || changed == c.want.EqualClusters(c.known) {
				t.Errorf("%t (-want +got):\n%s", changed, cmp.Diff(clustersOf(c.want), clustersOf(got)))
			}
		})
	}
}

func clustersOf(s facts.Set) []facts.Cluster {
	var out []facts.Cluster
	for _, name := range s.Names() {
		c, _ := s.Of(name)
		out = append(out, c)
	}
	return out
}

// A cluster arrives with its Secret, and with each new one; not with other labels, and not by
// going.
func TestClusterArrivesWithItsSecret(t *testing.T) {
	secret := func(name, uid string) facts.Cluster { return facts.Cluster{Name: name, Secret: uid} }
	state := func(clusters ...facts.Cluster) *fleetstate.State {
		st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small()), facts.NewSet(true, clusters...))
		require.NoError(t, err)
		return st
	}
	before := state(secret("one", "1"), secret("two", ""))
	for want, now := range map[string]*fleetstate.State{
		"":        state(facts.Cluster{Name: "one", Secret: "1", Labels: map[string]string{"tier": "gold"}}, secret("two", "")),
		"one":     state(secret("one", "2"), secret("two", "")),
		"two":     state(secret("one", ""), secret("two", "3")),
		"new two": state(secret("new", "4"), secret("one", "1"), secret("two", "3")),
	} {
		assert.Equal(t, want, strings.Join(now.Facts().Arrived(before.Facts()), " "))
	}
}

// An answer deploys to the clusters of its sets, whatever their values say; and to none if it is
// about the requester's own.
func TestDeploysTo(t *testing.T) {
	values := "text: '{\"name\":\"two\",\"nameNormalized\":\"two\"}'\n"
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{"addons/defaults/addons/dns/values.yaml": values})))
	for _, c := range []struct {
		ask, clusters string
		want          bool
	}{
		{`{"view":"components","group":"addons","release":"default"}`, "one", true},
		{`{"view":"components","group":"addons","release":"default"}`, "x two one", true},
		{`{"view":"components","group":"addons","release":"default"}`, "two", false},
		{`{"view":"components","group":"addons","release":"default"}`, "on one-more", false},
		{`{"view":"components","group":"addons","release":"default"}`, "", false},
		{`{"view":"components","group":"resources"}`, "one", false},
		{`{"view":"components","group":"nosuch"}`, "one", false},
		{`{"view":"members"}`, "one", false},
		{`{"view":"releases","group":"addons"}`, "hub", false},
	} {
		assert.Equal(t, c.want, new(response.Cache).DeploysTo(st, querytest.Query(t, c.ask), strings.Fields(c.clusters)), "%s to %q", c.ask, c.clusters)
	}
}

// BenchmarkDeploysTo: many clusters arrive that an answer has no set for, as when a hub is
// restored.
func BenchmarkDeploysTo(b *testing.B) {
	files := fleettest.Small()
	var arrived []string
	for i := range 1000 {
		name := fmt.Sprintf("c%d", i)
		files[fleettest.Member(name)] = fleettest.Spoke(name, "")
		arrived = append(arrived, "other-"+name)
	}
	st := querytest.Build(b, files)
	r := querytest.Query(b, `{"view":"components","group":"addons"}`)
	for b.Loop() {
		if new(response.Cache).DeploysTo(st, r, arrived) {
			b.Fatal("they are none of its clusters")
		}
	}
}
