package paramset

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// MaxSets is the limit of parameter sets in one response (rule H10), but for those of tenants' own
// components.
const MaxSets = 50_000

// Generate computes the parameter sets of a query, sorted by cluster, then component or release.
func Generate(st *fleetstate.State, q query.Checked) ([]Set, *problem.QueryError) {
	var sets []Set
	var problems []problem.Problem
	switch q.View {
	case query.Members, query.Components:
		byCluster, failure := ByCluster(st, q, func(s ClusterSets) []Set { return s.Sets })
		return slices.Concat(byCluster...), failure
	case query.Releases:
		sets, problems = releaseSets(st, q)
	case query.Agents:
		sets, problems = agentSets(st, q)
	case query.Grants:
		sets, problems = grantSets(st, q)
	}
	return sets, judge(st, q, Tally{Sets: len(sets)}, problems)
}

// GenerateDesired computes the parameter sets of a query when all removals are done, for engines
// that remove in one step.
func GenerateDesired(st *fleetstate.State, r query.Query) ([]Set, *problem.QueryError) {
	q, failure := query.Check(st, r)
	if failure != nil {
		return nil, failure
	}
	q.Desired = true
	return Generate(st, q)
}

// ByCluster computes the parameter sets of each cluster, in views that have sets of single members,
// and what becomes of them.
func ByCluster[V any](st *fleetstate.State, q query.Checked, of func(ClusterSets) V) ([]V, *problem.QueryError) {
	clusters := Candidates(st, q)
	out, tallies, problems := make([]V, len(clusters)), make([]Tally, len(clusters)), make([][]problem.Problem, len(clusters))
	run.Each(len(clusters), func(i int) {
		s := OfCluster(st, q, clusters[i])
		out[i], tallies[i], problems[i] = of(s), Tally{Sets: len(s.Sets), Own: s.Own, Live: s.Live, Known: s.Known}, s.Problems
	})
	var sum Tally
	for _, t := range tallies {
		sum.Add(t)
	}
	return out, Judge(st, q, sum, slices.Concat(problems...))
}

// Tally counts what decides whether there is a response.
type Tally struct {
	Sets int
	// Own are those of components of tenants' own catalogs. They have a budget by tenant (W2), and
	// do not count for the limit of a response, which would refuse it for all.
	Own int
	// Live tells that a cluster that the query is about is not retired; Known that a cluster's
	// catalogs have the component.
	Live, Known bool
}

// Add adds another tally.
func (t *Tally) Add(other Tally) {
	t.Sets += other.Sets
	t.Own += other.Own
	t.Live, t.Known = t.Live || other.Live, t.Known || other.Known
}

// Judge is why there is no response in a view that has sets of single members, nil if there is one
// (G1). Problems are those of its clusters.
func Judge(st *fleetstate.State, q query.Checked, sum Tally, problems []problem.Problem) *problem.QueryError {
	return judge(st, q, sum, append(problem.Errors(st.Fleet.ProblemsOf(q.Hub)), problems...))
}

func judge(st *fleetstate.State, q query.Checked, sum Tally, problems []problem.Problem) *problem.QueryError {
	switch {
	case q.Component != "" && q.Base == nil && sum.Live && !sum.Known:
		return unknownComponent(st, q)
	case sum.Sets-sum.Own > MaxSets && !q.SubjectsOnly:
		return &problem.QueryError{Kind: problem.KindUnavailable, Message: fmt.Sprintf("the response has more than %d parameter sets: query per component", MaxSets)}
	case len(problems) > 0:
		return query.Unavailable(st, problems)
	}
	return nil
}

// unknownComponent is the error of a component that no cluster's catalogs have.
func unknownComponent(st *fleetstate.State, q query.Checked) *problem.QueryError {
	var names []string
	clusters, _ := queriedClusters(st, q)
	for _, c := range clusters {
		if g := c.Groups[q.Group]; g != nil {
			names = append(names, g.Components()...)
		}
	}
	return problem.BadRequest("component %q is in no catalog of group %q%s", q.Component, q.Group, problem.Hint(q.Component, names))
}

// queriedClusters are the clusters that a request is about, sorted by name. Problems are of those
// that cannot be computed at all.
func queriedClusters(st *fleetstate.State, q query.Checked) ([]*fleetstate.Cluster, []problem.Problem) {
	var out []*fleetstate.Cluster
	problems := problem.Errors(st.Fleet.ProblemsOf(q.Hub))
	for _, c := range Candidates(st, q) {
		is, faults := isAbout(st, q, c)
		if problems = append(problems, faults...); is {
			out = append(out, c)
		}
	}
	return out, problems
}

// isAbout reports whether a request is about a cluster: one that the selector selects; of retired
// ones, those that may have something left to be removed. Problems are why that is not known.
func isAbout(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster) (bool, []problem.Problem) {
	switch {
	case st.IsLeftOut(c, q.Requester, q.Desired):
		return false, nil
	case c.LastKnownGood == nil && len(c.HubProblems) > 0:
		return false, c.HubProblems
	case c.IsRetired() && (!st.KnowsApplications() || len(c.Broken) > 0):
		return false, nil // what is wrong with its values concerns nobody any more
	case len(c.Broken) > 0:
		return false, c.Broken
	}
	return q.LabelSelector.Matches(c.Labels.All), lifecycle.MissingSecret(st, q, c)
}

// Candidates are the clusters that a request may be about, sorted by name: all of the hub, or the
// requester alone.
func Candidates(st *fleetstate.State, q query.Checked) []*fleetstate.Cluster {
	all := st.ClustersOf(q.Hub)
	if q.Requester == fleet.OwnerHub {
		return all
	}
	i, _ := st.Fleet.Place(q.Hub, q.Requester)
	return all[i : i+1]
}

// ClusterSets are one cluster's sets.
type ClusterSets struct {
	Sets        []Set
	Problems    []problem.Problem
	Own         int  // as in Tally
	Live, Known bool // as in Tally
}

// OfCluster computes the sets of one cluster, in views that have sets of single members.
func OfCluster(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster) ClusterSets {
	is, problems := isAbout(st, q, c)
	if !is {
		return ClusterSets{Problems: problems}
	}
	var out ClusterSets
	if q.View == query.Members {
		out = memberSets(st, q, c)
	} else {
		out = componentSets(st, q, c)
	}
	out.Live, out.Problems = !c.IsRetired(), append(problems, out.Problems...)
	return out
}
