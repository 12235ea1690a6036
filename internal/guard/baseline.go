package guard

import (
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// baseline is what a response is compared with.
type baseline struct {
	items []lifecycle.Item
	// remembered reports that the items are those of the last response (rule 2), not those of the
	// facts (rule 1).
	remembered bool
	// otherQueries returns the other queries of the requester, nil if it has none.
	otherQueries func() []query.Query
}

// baseline returns what the requester has.
func (g *Guard) baseline(p proposal) baseline {
	_, known := p.st.Facts().Applications()
	if known && p.engine == forArgoCD && p.query.Hub == g.o.Hub && p.query.ApplicationSet != "" {
		// Two queries of an ApplicationSet may differ in their selectors alone. Its Applications do
		// not tell which query made them, so a selector is judged by its last response unless all
		// queries are known.
		if p.query.Selector == nil || g.o.Queries(p.query.ApplicationSet).Complete {
			// Applications of a user's own template may lack the labels that identify them.
			if items := controlledItems(p.st, p.query); len(items) > 0 {
				return baseline{items: items, otherQueries: func() []query.Query { return g.otherQueries(p.query) }}
			}
		}
	}
	return baseline{items: g.baselines.of(p.key()), remembered: true}
}

// otherQueries returns the queries of an ApplicationSet but one.
func (g *Guard) otherQueries(r query.Query) []query.Query {
	own := keyOf(r, forArgoCD)
	var out []query.Query
	for _, q := range g.o.Queries(r.ApplicationSet).Requests {
		q.ApplicationSet = r.ApplicationSet
		if keyOf(q, forArgoCD) != own {
			out = append(out, q)
		}
	}
	return out
}

// controlledItems returns the Applications of an ApplicationSet that a query is about, by their
// labels. For the view Releases it returns those of the group, under any controller: the
// Applications of releases run on no member.
func controlledItems(st *fleetstate.State, r query.Query) []lifecycle.Item {
	known := st.Facts()
	if self := st.HubMember(r.Hub); self != nil && r.Owner == self.Name {
		r.Owner = fleet.OwnerHub
	}
	apps := known.ControlledBy(r.ApplicationSet)
	if r.View == query.Releases {
		apps, _ = known.Applications()
	}
	var out []lifecycle.Item
	for _, a := range apps {
		if isAbout(r, a) {
			out = append(out, lifecycle.Item{Name: a.Name, Cluster: a.Cluster, Group: a.Group, Component: a.Component, Release: a.Release})
		}
	}
	return out
}

// isAbout reports whether a query asks for an Application, by its labels. An agent sees its own
// cluster alone.
func isAbout(r query.Query, a facts.Application) bool {
	matches := func(label, queried string) bool { return label == "" || queried == "" || label == queried }
	if r.Owner != "" && r.Owner != fleet.OwnerHub && a.Cluster != r.Owner {
		return false
	}
	if a.Grant != (r.View == query.Grants) {
		return false
	}
	switch r.View {
	case query.Grants:
		return true
	case query.Components:
		return matches(a.Group, r.Group) && matches(a.Component, r.Component) && matches(a.Release, r.Release)
	case query.Releases:
		return a.Group == r.Group && a.Release != "" && a.Component != ""
	case query.Members:
		return matches(a.Component, fleetstate.Registration)
	case query.Agents:
		return matches(a.Component, fleetstate.Agent)
	}
	return false
}
