package guard

import (
	"encoding/json"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// Engines that query. Their responses differ.
const (
	forArgoCD = "argocd"
	forFlux   = "flux"
)

// proposal is a state's response to a query, before the guard has judged it.
type proposal struct {
	st       *fleetstate.State
	query    query.Query
	response *response.Response
	engine   string
}

// queryKey tells queries apart: it holds all of a query but the content of its base.
type queryKey string

// parsedKey is the content of a queryKey.
type parsedKey struct {
	Engine  string
	Request query.Query
	// Based reports that the query had a base.
	Based bool
}

func (p proposal) key() queryKey { return keyOf(p.query, p.engine) }

func keyOf(r query.Query, engine string) queryKey {
	based := r.Base != nil
	r.Base = nil
	text, err := json.Marshal(parsedKey{engine, r, based})
	if err != nil { // a query with a response can be encoded
		return queryKey(engine + err.Error())
	}
	return queryKey(text)
}

func (q queryKey) parse() (out parsedKey, ok bool) {
	err := json.Unmarshal([]byte(q), &out)
	return out, err == nil
}
