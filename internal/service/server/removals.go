package server

import (
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// requesters returns the queries of this service's ApplicationSets by name: of all, or of one.
func requesters(o Options, only string) map[string]guard.Queries {
	out := map[string]guard.Queries{}
	if o.ApplicationSets == nil {
		return out
	}
	sets, complete := o.ApplicationSets.List()
	for _, s := range sets {
		if only == "" || s.Name == only {
			out[s.Name] = queriesOf(o, s, complete)
		}
	}
	return out
}

// knownQueries returns a function that returns the queries of this service's ApplicationSets, by
// name. It leaves out an ApplicationSet with a query that only Argo CD knows. With ofAll, one such
// ApplicationSet makes the result nil, so that no ring advances on partial knowledge.
func knownQueries(o Options, ofAll bool) func() map[string][]query.Query {
	return func() map[string][]query.Query {
		out := map[string][]query.Query{}
		for name, qs := range requesters(o, "") {
			switch {
			case qs.Complete:
				out[name] = qs.Requests
			case ofAll:
				return nil
			}
		}
		return out
	}
}

// queriesOf returns the queries of an ApplicationSet.
func queriesOf(o Options, s facts.ApplicationSet, complete bool) guard.Queries {
	out := guard.Queries{Complete: complete && !s.Templated}
	for _, parameters := range s.Requests {
		r, err := query.Parse(parameters, o.Hub)
		if err != nil {
			continue // its response is an error, so Argo CD ignores the others
		}
		out.Requests = append(out.Requests, r)
	}
	return out
}

// refusedRemovals returns what is held or refused as beyond the removal budget, with the removals
// if detailed.
func (s *Server) refusedRemovals(detailed bool) []guard.RefusedRemoval {
	out := s.guard.Refusals()
	if out == nil {
		return []guard.RefusedRemoval{}
	}
	for i := range out {
		if !detailed {
			out[i].Removals = nil
		}
	}
	return out
}
