package response

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Inputs is the response to a query for Flux Operator, which knows one step of removal (rule 3):
// `{"inputs":[...]}` and a newline, the sets of Respond, each with its applicationName as `id`. The
// error is a *problem.QueryError, without any response (G1). It is not remembered: each provider
// asks once in some minutes, for little.
func Inputs(st *fleetstate.State, r query.Query) (*Response, error) {
	sets, failure := paramset.GenerateDesired(st, r)
	if failure != nil {
		return nil, failure
	}
	if sets, failure = distinct(st, sets); failure != nil {
		return nil, failure
	}
	now := computing.begin()
	defer now.end()
	all, failure := encodeCluster(paramset.ClusterSets{Sets: sets}, now)
	if failure != nil {
		return nil, failure
	}
	for i, e := range all.sets { // beside the set: its digest is that of Respond
		all.sets[i] = withID(e)
	}
	return inputsOf(st, newEncodedCluster(all.sets, all.rest())), nil
}

// withID is a set with the input's name.
func withID(e encodedSet) encodedSet {
	id := `{"id":` + strconv.Quote(e.subject.Name) + `,`
	e.text = append([]byte(id), e.text[1:]...)
	if e.hole > 0 {
		e.hole += len(id) - 1
	}
	return e
}

func inputsOf(st *fleetstate.State, all *encodedCluster) *Response {
	return newResponse(st, `{"inputs":[`, []*part{newPart(nil, []*encodedCluster{all}, nil, nil)}, "]}\n")
}

// ComposedInputs is Inputs with the sets of a response for Argo CD to the same query, which may be
// of several revisions. Of sets of one name it has the one of Inputs.
func ComposedInputs(st *fleetstate.State, r query.Query, composed *Response) (*Response, error) {
	desired, err := Inputs(st, r)
	if err != nil {
		return nil, err
	}
	names := map[string]lifecycle.Item{}
	desired.ParameterSets(func(s ParameterSet) { names[s.Item().Name] = s.Item() })
	var sets []encodedSet
	composed.ParameterSets(func(s ParameterSet) {
		own, is := names[s.Item().Name]
		if s.Item().IsRemoval || is && (own.Cluster != s.Item().Cluster || own.Component != s.Item().Component) {
			return
		}
		sets = append(sets, withID(s.fixed()))
	})
	return inputsOf(st, newEncodedCluster(sets, paramset.Tally{})), nil
}

// distinct leaves one of the sets that have one name, as those of component a-b on c and of a on
// b-c do: a tenant's component must not take another's name, nor hold up the others. What runs
// under the name stays; otherwise the platform's component comes before a tenant's own. Between
// equals there is no response.
func distinct(st *fleetstate.State, sets []paramset.Set) ([]paramset.Set, *problem.QueryError) {
	places := make(map[string]int, len(sets))
	out := sets[:0:0]
	for _, s := range sets {
		name := s.Shared().ApplicationName
		at, is := places[name]
		if !is {
			places[name] = len(out)
			out = append(out, s)
			continue
		}
		first, second := rank(st, out[at]), rank(st, s)
		if first == second {
			return nil, &problem.QueryError{Kind: problem.KindUnavailable, Message: fmt.Sprintf("id %q is that of two sets, of clusters %q and %q; expected ids that are unique: "+
				"rename a component or a cluster, or ask for one component", name, out[at].Shared().Name, s.Shared().Name)}
		}
		if second > first {
			out[at] = s
		}
	}
	return out, nil
}

// rank is a set's claim to its name.
func rank(st *fleetstate.State, s paramset.Set) int {
	c, ok := s.(*paramset.ComponentSet)
	if !ok {
		return 0
	}
	running := func(a facts.Application) bool { return a.Cluster == c.Name && a.Component == c.Component }
	releases, _ := st.Facts().HelmReleases()
	cluster := st.Cluster(c.Hub, c.Name)
	switch {
	case slices.ContainsFunc(st.Facts().ApplicationsOf(c.Name), running), slices.ContainsFunc(releases, running):
		return 2
	case cluster != nil && st.IsOfPlatform(cluster, c.Group, c.Component):
		return 1
	}
	return 0
}
