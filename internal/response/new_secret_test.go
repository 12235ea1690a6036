package response_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// A cluster arrives with its Secret, and with each new one; not with other labels, and not by
// going.
func TestClusterArrivesWithItsSecret(t *testing.T) {
	secret := func(name, uid string) facts.Cluster { return facts.Cluster{Name: name, Secret: uid} }
	state := func(clusters ...facts.Cluster) *fleetstate.State {
		st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small()), facts.NewSet(true, clusters...))
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	before := state(secret("one", "1"), secret("two", ""))
	for want, now := range map[string]*fleetstate.State{
		"":        state(facts.Cluster{Name: "one", Secret: "1", Labels: map[string]string{"tier": "gold"}}, secret("two", "")),
		"one":     state(secret("one", "2"), secret("two", "")),
		"two":     state(secret("one", ""), secret("two", "3")),
		"new two": state(secret("new", "4"), secret("one", "1"), secret("two", "3")),
	} {
		if got := strings.Join(now.Facts().Arrived(before.Facts()), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
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
		if got := new(response.Cache).DeploysTo(st, querytest.Query(t, c.ask), strings.Fields(c.clusters)); got != c.want {
			t.Errorf("%s to %q: %v", c.ask, c.clusters, got)
		}
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
