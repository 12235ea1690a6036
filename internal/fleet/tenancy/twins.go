package tenancy

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
)

// TwinsOf returns the members of other hubs that would have the same name in the same account and
// region, as far as the files say: two controllers would have one cluster.
func TwinsOf(f *fleet.Fleet, m *fleet.Member) []*fleet.Member {
	if m.Provision == nil {
		return nil
	}
	var out []*fleet.Member
	for _, hub := range f.Hubs() {
		if other := f.Member(hub, m.Name); other != nil && m.IsTwin(other) {
			out = append(out, other)
		}
	}
	return out
}

// ChangedTwins returns the members that have other twins than in a previous fleet.
func ChangedTwins(previous, f *fleet.Fleet) []*fleet.Member {
	var out []*fleet.Member
	for _, hub := range f.Hubs() {
		for _, m := range f.Members(hub) {
			if m.Provision != nil && !slices.Equal(TwinsOf(previous, m), TwinsOf(f, m)) {
				out = append(out, m)
			}
		}
	}
	return out
}

// Twins returns the problems of a member that has twins, except those that came later.
func Twins(f *fleet.Fleet, m *fleet.Member) []problem.Problem {
	var out []problem.Problem
	for _, other := range TwinsOf(f, m) {
		if f.Late[other.Pos.File] != "" {
			continue
		}
		out = append(out, problem.Problem{
			Reason: problem.InvalidProvision, Severity: problem.Error, Pos: m.KeyPos(provision.Key), Subject: fmt.Sprintf("cluster %q", m.Name),
			Found:    fmt.Sprintf("hub %q provisions a cluster of this name in this account and region, too", other.Hub),
			Expected: "one of the two, or another account or region in one of the files", Related: []problem.Pos{other.KeyPos(provision.Key)},
		})
	}
	return out
}
