package server

import (
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// queries returns a function for the known queries of an ApplicationSet.
func queries(o Options) func(string) guard.Queries {
	return func(name string) (out guard.Queries) {
		if o.ApplicationSets == nil {
			return out
		}
		sets, complete := o.ApplicationSets.List()
		for _, s := range sets {
			if s.Name == name {
				out = queriesOf(o, s, complete)
			}
		}
		return out
	}
}

// requesters returns a function for the queries of all ApplicationSets of this service, by name.
func requesters(o Options) func() map[string]guard.Queries {
	return func() map[string]guard.Queries {
		out := map[string]guard.Queries{}
		if o.ApplicationSets == nil {
			return out
		}
		sets, complete := o.ApplicationSets.List()
		for _, s := range sets {
			out[s.Name] = queriesOf(o, s, complete)
		}
		return out
	}
}

// knownQueries returns a function for the queries of this service's ApplicationSets, by name. It
// leaves out an ApplicationSet that has a query which only Argo CD knows; with ofAll, one such
// ApplicationSet leaves none, so that no ring moves on a part. Without ApplicationSets it is nil.
func knownQueries(o Options, ofAll bool) func() map[string][]query.Query {
	if o.ApplicationSets == nil {
		return nil
	}
	all := requesters(o)
	return func() map[string][]query.Query {
		out := map[string][]query.Query{}
		for name, qs := range all() {
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
			continue // its response is an error, so Argo CD does not use the others
		}
		out.Requests = append(out.Requests, r)
	}
	return out
}

// refusedRemovals returns the responses that are beyond the removal budget, with their removals one
// by one if detailed.
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
