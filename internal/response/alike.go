package response

import (
	"bytes"
	"slices"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/parallel"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/queryerr"
)

// Outline is a parameter set of a component in parts: the set as JSON without its metadata and
// values, its metadata as JSON, and the values of its charts.
type Outline struct {
	Set, Metadata []byte
	Values        []string
}

// Alike reports whether two states respond alike to a query for components, but for the revision,
// without making the responses: what clusters that both share are told is computed once, and not
// written. It calls visit for each set of the second response, from several goroutines. Known is
// false where only the responses themselves tell, and for other queries.
func Alike(before, after *fleetstate.State, r query.Query, visit func(Outline)) (alike, known bool) {
	old, failed := query.Check(before, r)
	q, fails := query.Check(after, r)
	if failed != nil || fails != nil || q.View != query.Components || !before.Facts().Equal(after.Facts()) || requesterOf(before, old) != requesterOf(after, q) {
		return false, false
	}
	pairs := pairsOf(paramset.Candidates(before, old), paramset.Candidates(after, q))
	was, is := newJudgement(before, old, len(pairs)), newJudgement(after, q, len(pairs))
	var differ, fail atomic.Bool
	var size atomic.Int64
	parallel.Each(len(pairs), func(i int) {
		p := pairs[i]
		updated := is.sets(i, p.after)
		for _, s := range updated.Sets {
			o, written := outlineOf(s)
			if size.Add(int64(written)) > int64(maxComputed)/4 {
				fail.Store(true) // the response itself may be too large
				return
			}
			visit(o)
		}
		if p.before == p.after {
			was.tallies[i], was.problems[i] = is.tallies[i], is.problems[i]
			return
		}
		same, failure := equalSets(was.sets(i, p.before), updated)
		if failure != nil {
			fail.Store(true)
		}
		if !same {
			differ.Store(true)
		}
	})
	if fail.Load() || was.failure() != nil || is.failure() != nil {
		return false, false
	}
	return !differ.Load(), true
}

// pair are a member's clusters in two states, nil where there is none.
type pair struct{ before, after *fleetstate.Cluster }

// pairsOf pairs clusters by name. Both lists are sorted by it.
func pairsOf(before, after []*fleetstate.Cluster) []pair {
	out := make([]pair, 0, len(after))
	i := 0
	for _, c := range after {
		for ; i < len(before) && before[i].Member.Name < c.Member.Name; i++ {
			out = append(out, pair{before[i], nil})
		}
		p := pair{nil, c}
		if i < len(before) && before[i].Member.Name == c.Member.Name {
			p.before = before[i]
			i++
		}
		out = append(out, p)
	}
	for _, c := range before[i:] {
		out = append(out, pair{c, nil})
	}
	return out
}

// judgement gathers by cluster what decides whether there is a response.
type judgement struct {
	st       *fleetstate.State
	q        query.Checked
	tallies  []paramset.Tally
	problems [][]problem.Problem
}

func newJudgement(st *fleetstate.State, q query.Checked, n int) *judgement {
	return &judgement{st, q, make([]paramset.Tally, n), make([][]problem.Problem, n)}
}

// sets are those of a cluster, which may be nil.
func (j *judgement) sets(i int, c *fleetstate.Cluster) paramset.ClusterSets {
	if c == nil {
		return paramset.ClusterSets{}
	}
	s := paramset.OfCluster(j.st, j.q, c)
	j.tallies[i], j.problems[i] = paramset.Tally{Sets: len(s.Sets), Own: s.Own, Live: s.Live, Known: s.Known}, s.Problems
	return s
}

func (j *judgement) failure() *queryerr.Error {
	var sum paramset.Tally
	for _, t := range j.tallies {
		sum.Add(t)
	}
	return paramset.Judge(j.st, j.q, sum, slices.Concat(j.problems...))
}

// equalSets reports whether a cluster's sets are the same, but for the revision.
func equalSets(a, b paramset.ClusterSets) (bool, *queryerr.Error) {
	if len(a.Sets) != len(b.Sets) {
		return false, nil
	}
	for i := range a.Sets {
		x, failed := encode(a.Sets[i])
		y, fails := encode(b.Sets[i])
		switch {
		case failed != nil:
			return false, failed
		case fails != nil:
			return false, fails
		case !bytes.Equal(x.digest(), y.digest()):
			return false, nil
		}
	}
	return true, nil
}

// outlineOf is the outline of a component's set, and about how many bytes the set has.
func outlineOf(s paramset.Set) (out Outline, size int) {
	c, ok := s.(*paramset.ComponentSet)
	if !ok {
		return out, maxComputed // of another view
	}
	rest := *c
	out.Metadata, rest.Metadata = rest.Metadata, nil
	out.Values, rest.HelmValues = append(out.Values, rest.HelmValues), ""
	rest.Companions = make(map[string]paramset.CompanionSet, len(c.Companions))
	for name, one := range c.Companions {
		out.Values, one.HelmValues = append(out.Values, one.HelmValues), ""
		rest.Companions[name] = one
	}
	var err error
	if out.Set, err = encodeJSON(rest); err != nil {
		return out, maxComputed
	}
	size = len(out.Set) + len(out.Metadata)
	for _, v := range out.Values {
		size += len(v)
	}
	return out, size
}
