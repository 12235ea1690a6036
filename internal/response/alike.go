package response

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Outline is what parameter sets of components say, in parts: JSON, and the values of charts. It
// is a whole set, or what all sets of a cluster share, or a set that stands for all that differ
// from it in that alone.
type Outline struct {
	JSON   []byte
	Values []string
}

// Outlines finds how two states' responses to queries for components differ, and looks into what
// the second one says. What many sets say alike is looked into once, which takes 30 % less
// processor time on 10,000 clusters with 20 components.
type Outlines struct {
	before, after *fleetstate.State
	look          func(Outline) bool

	mu       sync.RWMutex
	clusters map[*fleetstate.Cluster]outlined
	sets     map[outlineKey]outlined
}

// outlined is what has been found in an outline, and about how many bytes it has.
type outlined struct {
	found bool
	size  int
}

// outlineKey is the same for sets without companions that differ at most in what all sets of a
// cluster share, and in the name of the Application, which is made of it.
type outlineKey struct {
	values                                                      *hierarchy.Tree
	entry                                                       *catalog.Entry
	chart                                                       catalog.Chart
	namespace, releaseName, group, component, release, deletion string
}

// NewOutlines compares two states. Look reports whether it finds something in an outline; it is
// called from several goroutines.
func NewOutlines(before, after *fleetstate.State, look func(Outline) bool) *Outlines {
	return &Outlines{before: before, after: after, look: look, clusters: map[*fleetstate.Cluster]outlined{}, sets: map[outlineKey]outlined{}}
}

// Differing returns what both states respond to a query for components without the parameter sets
// that both have, but for the revision. It makes no responses: sets of clusters that both share are
// computed once, and not written. Found tells that Look has found something in the second response;
// then there is no result. Known is false where only the responses themselves tell, and for other
// queries.
func (o *Outlines) Differing(r query.Query) (was, is *Response, known, found bool) {
	old, failed := query.Check(o.before, r)
	q, fails := query.Check(o.after, r)
	if failed != nil || fails != nil || q.View != query.Components || !o.before.Facts().Equal(o.after.Facts()) || requesterOf(o.before, old) != requesterOf(o.after, q) {
		return nil, nil, false, false
	}
	pairs := pairsOf(paramset.Candidates(o.before, old), paramset.Candidates(o.after, q))
	before, after := newJudgement(o.before, old, len(pairs)), newJudgement(o.after, q, len(pairs))
	olds, news := make([]*encodedCluster, len(pairs)), make([]*encodedCluster, len(pairs))
	now := computing.begin()
	defer now.end()
	var fail, has atomic.Bool
	var size atomic.Int64
	add := func(x outlined) {
		if x.found {
			has.Store(true)
		}
		if size.Add(int64(x.size)) > int64(maxComputed)/4 {
			fail.Store(true) // the response itself may be too large
		}
	}
	run.Each(len(pairs), func(i int) {
		p := pairs[i]
		switch {
		case fail.Load() || has.Load():
		case p.before == p.after:
			after.each(i, p.after, func(r *paramset.ResolvedComponent) []problem.Problem {
				x, problems := o.component(r)
				add(x)
				return problems
			})
			before.tallies[i], before.problems[i] = after.tallies[i], after.problems[i]
		default:
			updated := after.sets(i, p.after)
			for _, s := range updated.Sets {
				add(o.set(s))
			}
			var failed, fails *problem.QueryError
			olds[i], failed = encodeCluster(before.sets(i, p.before), now)
			news[i], fails = encodeCluster(updated, now)
			if failed != nil || fails != nil {
				fail.Store(true)
			}
		}
	})
	switch {
	case has.Load():
		return nil, nil, true, true
	case fail.Load() || before.failure() != nil || after.failure() != nil:
		return nil, nil, false, false
	}
	was, is = Differing(ofClusters(o.before, olds), ofClusters(o.after, news))
	return was, is, true, false
}

// ofClusters is a response of some clusters; nil is none.
func ofClusters(st *fleetstate.State, clusters []*encodedCluster) *Response {
	some := slices.DeleteFunc(clusters, func(c *encodedCluster) bool { return c == nil })
	return newResponse(st, opening, []*part{newPart(nil, some, nil, nil)}, closing)
}

// Differing returns two responses without the parameter sets that both have, but for the revision.
func Differing(was, is *Response) (*Response, *Response) { return was.without(is), is.without(was) }

func (t *Response) without(other *Response) *Response {
	known := make(map[string]bool, other.Tally.Sets)
	for e := range other.all() {
		known[string(e.content())] = true
	}
	return t.Compose(func(s ParameterSet) (ParameterSet, bool) { return s, !known[string(s.encoded.content())] })
}

// component looks into a set by what it shares with others.
func (o *Outlines) component(r *paramset.ResolvedComponent) (outlined, []problem.Problem) {
	if len(r.Companions) > 0 {
		s, problems := r.Set()
		if s == nil {
			return outlined{}, problems
		}
		return o.set(s), problems
	}
	key := outlineKey{
		values: r.Values, entry: r.Entry, chart: r.Chart, namespace: r.Namespace, releaseName: r.ReleaseName,
		group: r.Group.Name, component: r.Name, release: r.Group.Release.Type, deletion: r.Deletion,
	}
	o.mu.RLock()
	shared, known := o.sets[key]
	own, isKnown := o.clusters[r.Cluster]
	o.mu.RUnlock()
	if !known {
		s, problems := r.Set()
		if s == nil {
			return outlined{}, problems
		}
		s.Metadata = nil // all sets of the cluster have it
		shared = o.set(s)
	}
	if !isKnown {
		own = o.json(paramset.CommonOf(r.Cluster))
	}
	if !known || !isKnown {
		o.mu.Lock()
		o.sets[key], o.clusters[r.Cluster] = shared, own
		o.mu.Unlock()
	}
	return outlined{shared.found || own.found, shared.size + own.size}, nil
}

// set looks into a whole set.
func (o *Outlines) set(s paramset.Set) outlined {
	c, ok := s.(*paramset.ComponentSet)
	if !ok {
		return outlined{size: maxComputed} // of another view
	}
	rest := *c
	values := []string{rest.HelmValues}
	rest.HelmValues = ""
	rest.Companions = make(map[string]paramset.CompanionSet, len(c.Companions))
	for name, one := range c.Companions {
		values, one.HelmValues = append(values, one.HelmValues), ""
		rest.Companions[name] = one
	}
	return o.json(rest, values...)
}

func (o *Outlines) json(v any, values ...string) outlined {
	text, err := encodeJSON(v)
	if err != nil {
		return outlined{size: maxComputed}
	}
	size := len(text)
	for _, v := range values {
		size += len(v)
	}
	return outlined{o.look(Outline{text, values}), size}
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

// each visits what the sets of components of a cluster are made of.
func (j *judgement) each(i int, c *fleetstate.Cluster, visit func(*paramset.ResolvedComponent) []problem.Problem) {
	sets := 0
	s := paramset.EachComponent(j.st, j.q, c, func(r *paramset.ResolvedComponent) []problem.Problem {
		sets++
		return visit(r)
	})
	j.tallies[i], j.problems[i] = paramset.Tally{Sets: sets, Own: s.Own, Live: s.Live, Known: s.Known}, s.Problems
}

func (j *judgement) failure() *problem.QueryError {
	var sum paramset.Tally
	for _, t := range j.tallies {
		sum.Add(t)
	}
	return paramset.Judge(j.st, j.q, sum, slices.Concat(j.problems...))
}
