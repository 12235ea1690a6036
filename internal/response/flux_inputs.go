package response

import (
	"fmt"
	"strconv"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/queryerr"
)

// Inputs is the response to a query for Flux Operator, which knows one step of removal (rule 3):
// `{"inputs":[...]}` and a newline, the sets of Respond, each with its applicationName as `id`. The
// error is an *Error; then there is no response at all (G1). It is not remembered: each provider
// asks once in some minutes, for little.
func Inputs(st *fleetstate.State, r query.Query) (*Response, error) {
	sets, failure := paramset.GenerateDesired(st, r)
	if failure != nil {
		return nil, failure
	}
	if failure := distinct(sets); failure != nil {
		return nil, failure
	}
	all, failure := encodeCluster(paramset.ClusterSets{Sets: sets})
	if failure != nil {
		return nil, failure
	}
	for i, e := range all.sets { // beside the set: its digest is that of Respond
		id := `{"id":` + strconv.Quote(e.subject.Name) + `,`
		all.sets[i].text = append([]byte(id), e.text[1:]...)
		if e.hole > 0 {
			all.sets[i].hole += len(id) - 1
		}
	}
	return newResponse(st, `{"inputs":[`, []*part{newPart(nil, []*encodedCluster{all})}, "]}\n"), nil
}

// distinct says which sets have one name, as those of component a-b on c and of a on b-c do.
func distinct(sets []paramset.Set) *queryerr.Error {
	clusters := make(map[string]string, len(sets))
	for _, s := range sets {
		c := s.Shared()
		if other, is := clusters[c.ApplicationName]; is {
			return &queryerr.Error{Kind: queryerr.KindUnavailable, Message: fmt.Sprintf("id %q is that of two sets, of clusters %q and %q; expected ids that are unique: "+
				"rename a component or a cluster, or ask for one component", c.ApplicationName, other, c.Name)}
		}
		clusters[c.ApplicationName] = c.Name
	}
	return nil
}
