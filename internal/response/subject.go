package response

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// subject is what one parameter set is about.
type subject struct {
	lifecycle.Item
	// clusters are those on the release, in view Releases.
	clusters []string
	// dependsOn are those of a component.
	dependsOn []string
}

func (s subject) equal(o subject) bool {
	return s.Item == o.Item && slices.Equal(s.clusters, o.clusters) && slices.Equal(s.dependsOn, o.dependsOn)
}

// subjectOf returns the subject of a set.
func subjectOf(s paramset.Set) subject {
	c := s.Shared()
	out := subject{Item: lifecycle.Item{Name: c.ApplicationName, Cluster: c.Name}}
	switch s := s.(type) {
	case *paramset.ComponentSet:
		out.Group, out.Component, out.Release, out.IsRemoval = s.Group, s.Component, s.Release, s.Deletion == fleet.Cascade
		out.dependsOn = s.DependsOn
	case *paramset.MemberSet:
		out.Group, out.Component, out.IsRemoval = fleetstate.FleetGroup, fleetstate.Registration, s.Deletion == fleet.Cascade
	case *paramset.AgentSet:
		out.Group, out.Component, out.IsRemoval = fleetstate.FleetGroup, fleetstate.Agent, s.Deletion == fleet.Cascade
	case *paramset.GrantSet:
		out.Group = s.Group // the workloads of the group are not in it
	case *paramset.ReleaseSet:
		out.Group, out.clusters = s.Group, s.Clusters
		out.Release, _ = s.Release["type"].(string)
	}
	return out
}

// items returns what the set contains: of a release, one item for each of its clusters.
func (s subject) items() []lifecycle.Item {
	if s.clusters == nil {
		return []lifecycle.Item{s.Item}
	}
	out := make([]lifecycle.Item, len(s.clusters))
	for i, cluster := range s.clusters {
		out[i] = lifecycle.Item{Cluster: cluster, Group: s.Group, Release: s.Release}
	}
	return out
}

// Items returns what the response contains, in order.
func (t *Response) Items() []lifecycle.Item {
	out := make([]lifecycle.Item, 0, t.Tally.Sets)
	for e := range t.all() {
		out = append(out, e.subject.items()...)
	}
	return out
}

// Items returns what the response to a query contains, in order, without making the response: there
// may be any number of sets.
func Items(st *fleetstate.State, r query.Query) ([]lifecycle.Item, error) {
	q, failure := query.Check(st, r)
	if failure != nil {
		return nil, failure
	}
	if q.View != query.Components && q.View != query.Members {
		sets, failure := paramset.Generate(st, q)
		if failure != nil {
			return nil, failure
		}
		return itemsOf(sets), nil
	}
	q.SubjectsOnly = true
	clusters := paramset.Candidates(st, q)
	j, out := newJudgement(st, q, len(clusters)), make([][]lifecycle.Item, len(clusters))
	run.Each(len(clusters), func(i int) { out[i] = j.items(i, clusters[i]) })
	if failure := j.failure(); failure != nil {
		return nil, failure
	}
	return slices.Concat(out...), nil
}

// Contents are the items of a response, or why there is none.
type Contents struct {
	Items []lifecycle.Item
	Err   error
}

// ItemsOfBoth returns the Items of two states. Clusters that both share are computed once; equal is
// set where both responses contain the same.
func ItemsOfBoth(before, after *fleetstate.State, r query.Query) (was, is Contents, equal bool) {
	old, failed := query.Check(before, r)
	q, fails := query.Check(after, r)
	if failed != nil || fails != nil || q.View != query.Components && q.View != query.Members ||
		!before.Facts().Equal(after.Facts()) || requesterOf(before, old) != requesterOf(after, q) {
		was.Items, was.Err = Items(before, r)
		is.Items, is.Err = Items(after, r)
		return was, is, false
	}
	old.SubjectsOnly, q.SubjectsOnly = true, true
	pairs := pairsOf(paramset.Candidates(before, old), paramset.Candidates(after, q))
	x, y := newJudgement(before, old, len(pairs)), newJudgement(after, q, len(pairs))
	olds, news := make([][]lifecycle.Item, len(pairs)), make([][]lifecycle.Item, len(pairs))
	run.Each(len(pairs), func(i int) {
		news[i] = y.items(i, pairs[i].after)
		if pairs[i].before == pairs[i].after {
			olds[i], x.tallies[i], x.problems[i] = news[i], y.tallies[i], y.problems[i]
			return
		}
		olds[i] = x.items(i, pairs[i].before)
	})
	contents := func(j *judgement, items [][]lifecycle.Item) Contents {
		if failure := j.failure(); failure != nil {
			return Contents{Err: failure}
		}
		return Contents{Items: slices.Concat(items...)}
	}
	was = contents(x, olds)
	if y.failure() == nil && was.Err == nil && slices.EqualFunc(olds, news, slices.Equal[[]lifecycle.Item]) {
		return was, was, true
	}
	return was, contents(y, news), false
}

// items are those of a cluster, which may be nil.
func (j *judgement) items(i int, c *fleetstate.Cluster) (out []lifecycle.Item) {
	if c == nil || j.q.View != query.Components {
		return itemsOf(j.sets(i, c).Sets)
	}
	j.each(i, c, func(r *paramset.ResolvedComponent) []problem.Problem {
		out = append(out, lifecycle.Item{
			Name: catalog.ApplicationName(r.Name, c.Member.Name), Cluster: c.Member.Name,
			Group: r.Group.Name, Component: r.Name, Release: r.Group.Release.Type, IsRemoval: r.Deletion == fleet.Cascade,
		})
		return nil
	})
	return out
}

func itemsOf(sets []paramset.Set) []lifecycle.Item {
	out := make([]lifecycle.Item, 0, len(sets))
	for _, s := range sets {
		out = append(out, subjectOf(s).items()...)
	}
	return out
}
