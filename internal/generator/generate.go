package generator

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
)

// MaxSets is the limit of parameter sets in one answer (rule H10).
const MaxSets = 50_000

// Generate computes the parameter sets of a query, sorted by cluster, then component or release.
func Generate(st *State, q query) ([]ParameterSet, *Error) {
	var sets []ParameterSet
	var problems []problem.Problem
	switch q.View {
	case Members, Components:
		byCluster, failure := ByCluster(st, q, func(s ClusterSets) []ParameterSet { return s.Sets })
		return slices.Concat(byCluster...), failure
	case Releases:
		sets, problems = releaseSets(st, q)
	case Agents:
		sets, problems = agentSets(st, q)
	case Grants:
		sets, problems = grantSets(st, q)
	}
	return sets, judge(st, q, Tally{Sets: len(sets)}, problems)
}

// GenerateDesired computes the parameter sets of a query when all removals are done, for engines that remove in one step.
func GenerateDesired(st *State, r Request) ([]ParameterSet, *Error) {
	q, failure := CheckQuery(st, r)
	if failure != nil {
		return nil, failure
	}
	q.Desired = true
	return Generate(st, q)
}

// ByCluster computes the parameter sets of each cluster, in views that have sets of single members, and what becomes of them.
func ByCluster[V any](st *State, q query, of func(ClusterSets) V) ([]V, *Error) {
	clusters := Candidates(st, q)
	out, tallies, problems := make([]V, len(clusters)), make([]Tally, len(clusters)), make([][]problem.Problem, len(clusters))
	Each(len(clusters), func(i int) {
		s := OfCluster(st, q, clusters[i])
		out[i], tallies[i], problems[i] = of(s), Tally{Sets: len(s.Sets), Live: s.Live, Known: s.Known}, s.Problems
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
	// Live tells that a cluster that the query is about is not retired; Known that a cluster's catalogs have the component.
	Live, Known bool
}

// Add adds another tally.
func (t *Tally) Add(other Tally) {
	t.Sets += other.Sets
	t.Live, t.Known = t.Live || other.Live, t.Known || other.Known
}

// Judge is why there is no response in a view that has sets of single members, nil if there is one (G1). Problems are those
// of its clusters.
func Judge(st *State, q query, sum Tally, problems []problem.Problem) *Error {
	return judge(st, q, sum, append(problem.Errors(st.Fleet.ProblemsOf(q.Hub)), problems...))
}

func judge(st *State, q query, sum Tally, problems []problem.Problem) *Error {
	switch {
	case q.Component != "" && q.Base == nil && sum.Live && !sum.Known:
		return unknownComponent(st, q)
	case len(problems) > 0:
		return UnavailableError(problems)
	case sum.Sets > MaxSets && !q.SubjectsOnly:
		return &Error{Kind: Unavailable, Message: fmt.Sprintf("the answer has %d parameter sets; the limit is %d: ask per component", sum.Sets, MaxSets)}
	}
	return nil
}

// unknownComponent is the error of a component that no cluster's catalogs have.
func unknownComponent(st *State, q query) *Error {
	var names []string
	clusters, _ := queriedClusters(st, q)
	for _, c := range clusters {
		if g := c.Groups[q.Group]; g != nil {
			names = append(names, g.Components()...)
		}
	}
	return BadRequestError("component %q is in no catalog of group %q%s", q.Component, q.Group, Hint(q.Component, names))
}

// asked are the clusters that a request is about, sorted by name. Problems are of those that cannot be computed at all.
func queriedClusters(st *State, q query) ([]*Cluster, []problem.Problem) {
	var out []*Cluster
	problems := problem.Errors(st.Fleet.ProblemsOf(q.Hub))
	for _, c := range Candidates(st, q) {
		is, faults := isAbout(st, q, c)
		if problems = append(problems, faults...); is {
			out = append(out, c)
		}
	}
	return out, problems
}

// isAbout reports whether a request is about a cluster: one that the selector selects; of retired ones, those that may
// have something left to be removed. Problems are why that cannot be told.
func isAbout(st *State, q query, c *Cluster) (bool, []problem.Problem) {
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
	return q.LabelSelector.Matches(c.Labels.All), MissingSecret(st, q, c)
}

// Candidates are the clusters that a request may be about, sorted by name: all of the hub, or the asker alone.
func Candidates(st *State, q query) []*Cluster {
	all := st.ClustersOf(q.Hub)
	if q.Requester == fleet.OwnerHub {
		return all
	}
	i, _ := st.Fleet.Place(q.Hub, q.Requester)
	return all[i : i+1]
}

// ClusterSets are one cluster's sets.
type ClusterSets struct {
	Sets        []ParameterSet
	Problems    []problem.Problem
	Live, Known bool // as in Tally
}

// OfCluster computes the sets of one cluster, in views that have sets of single members.
func OfCluster(st *State, q query, c *Cluster) ClusterSets {
	is, problems := isAbout(st, q, c)
	if !is {
		return ClusterSets{Problems: problems}
	}
	var out ClusterSets
	if q.View == Members {
		out = memberSets(st, q, c)
	} else {
		out = componentSets(st, q, c)
	}
	out.Live, out.Problems = !c.IsRetired(), append(problems, out.Problems...)
	return out
}
