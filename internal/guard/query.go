package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/resolve/query"
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

// KnownQueries returns the queries of Argo CD to the hub, as far as they are known: the queries of
// its ApplicationSets, and queries without a base that had a response. Of other requesters, it
// leaves out queries about some tenants alone: a tenant's token may send any number of them.
func (g *Guard) KnownQueries() []query.Query {
	all := map[queryKey]query.Query{}
	for key := range g.baselines.queries(forArgoCD) {
		if k, _ := key.parse(); !k.Based && k.Request.Hub == g.o.Hub && !namesTenants(k.Request) {
			all[key] = k.Request
		}
	}
	for name, known := range g.o.Requesters() {
		for i, q := range known.Requests {
			q.ApplicationSet = name
			all[queryKey(fmt.Sprint(name, " ", i))] = q
		}
	}
	out := make([]query.Query, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out
}

// KnownInputs calls f for the queries of Flux Operator to the hub, as KnownQueries has those of
// Argo CD, each with the most inputs that it takes.
func (g *Guard) KnownInputs(f func(q query.Query, most int)) {
	all := g.baselines.queries(forFlux)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if k, _ := key.parse(); k.Request.Hub == g.o.Hub && !namesTenants(k.Request) {
			f(k.Request, all[key])
		}
	}
}

// namesTenants reports whether a query is about some tenants alone.
func namesTenants(q query.Query) bool {
	s, err := labels.ParseSelector(q.Selector)
	return err == nil && s.Names(labels.Tenant)
}
