package response_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
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
			if err != nil {
				t.Fatal(err)
			}
			head, err := fleetstate.Build(base, fleettest.Snapshot("rev", fleettest.Small().With(c.head)), c.known)
			if err != nil {
				t.Fatal(err)
			}
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
