package guard

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// item is something that a member has. Its unknown fields are empty.
type item struct{ name, cluster, group, component, release string }

// baseline is what a response is compared with.
type baseline struct {
	items []item
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

// hubMembers returns the clusters of the hub that have Applications or, where none are known, a
// registration.
func (g *Guard) hubMembers(p proposal, b baseline) func() map[string]bool {
	return func() map[string]bool {
		out := map[string]bool{}
		if !b.remembered {
			apps, _ := p.st.Facts().Applications()
			for _, app := range apps {
				out[app.Cluster] = true
			}
			return out
		}
		for _, x := range g.baselines.registered(p.query.Hub, g.o.Now().Add(-p.st.Fleet.Layout.Guard.Window)) {
			out[x.cluster] = true
		}
		return out
	}
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
// labels. For the view Releases it returns those of the group, whoever controls them: the
// Applications of releases run on no member.
func controlledItems(st *fleetstate.State, r query.Query) []item {
	known := st.Facts()
	if self := st.HubMember(r.Hub); self != nil && r.Owner == self.Name {
		r.Owner = fleet.OwnerHub
	}
	apps := known.ControlledBy(r.ApplicationSet)
	if r.View == query.Releases {
		apps, _ = known.Applications()
	}
	var out []item
	for _, a := range apps {
		if isAbout(r, a) {
			out = append(out, item{a.Name, a.Cluster, a.Group, a.Component, a.Release})
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

// subjectsOf returns what a response is about.
func subjectsOf(response *response.Response) []response.Subject {
	return byCluster(response.Subjects())
}

// byCluster splits the subject of a release into one for each of its clusters.
func byCluster(all []response.Subject) []response.Subject {
	if !slices.ContainsFunc(all, func(s response.Subject) bool { return s.Clusters != nil }) {
		return all
	}
	var out []response.Subject
	for _, s := range all {
		for _, cluster := range s.Clusters {
			out = append(out, response.Subject{Cluster: cluster, Group: s.Group, Release: s.Release})
		}
	}
	return out
}
