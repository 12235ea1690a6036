package overview

import (
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/service/access"
)

// Filter selects clusters and components. An empty field selects all.
type Filter struct {
	Hub         string `json:"hub,omitempty"`
	Tenant      string `json:"tenant,omitempty"`
	Environment string `json:"environment,omitempty"`
	Group       string `json:"group,omitempty"`
	Component   string `json:"component,omitempty"`
	// Label is a label key, or key=value.
	Label string `json:"label,omitempty"`
	// Search is a part of the name of a cluster or a component.
	Search string `json:"search,omitempty"`
}

// IsZero reports whether the filter selects all.
func (f Filter) IsZero() bool { return f == Filter{} }

// Options holds the values that filters may have, sorted.
type Options struct {
	Hubs         []string `json:"hubs"`
	Tenants      []string `json:"tenants"`
	Environments []string `json:"environments"`
	Groups       []string `json:"groups"`
}

// selectsCluster reports whether a filter selects a cluster, whatever Search is.
func (f Filter) selectsCluster(c *fleetstate.Cluster) bool {
	m := c.Member
	if f.Hub != "" && f.Hub != m.Hub || f.Tenant != "" && f.Tenant != m.Tenant || f.Environment != "" && f.Environment != m.Environment {
		return false
	}
	if f.Label == "" {
		return true
	}
	key, want, equal := strings.Cut(f.Label, "=")
	value, ok := c.Labels.All[key]
	return ok && (!equal || value == want)
}

// selectsComponent reports whether a filter selects a component, whatever Search is.
func (f Filter) selectsComponent(c Component) bool {
	return (f.Group == "" || f.Group == c.Group) && (f.Component == "" || f.Component == c.Name)
}

// Selection is the beginning of a view: its filter, and the values that filters may have.
type Selection struct {
	Filter  Filter  `json:"filter"`
	Options Options `json:"options"`

	all, rows        []row       // that the reader sees, and that the filter selects as well
	seen, components []Component // the same of components
}

// Select selects clusters and components among those that a scope sees. A search selects the
// clusters of that name and all their components, or else the components of that name on all
// clusters.
func (x *Index) Select(scope access.Reader, f Filter) Selection {
	s := Selection{Filter: f, all: x.visible(scope)}
	s.seen = componentsOf(scope, s.all)
	hubs, tenants, environments, groups := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	var byName []row
	text := strings.ToLower(f.Search)
	for _, r := range s.all {
		m := r.cluster.Member
		hubs[m.Hub], tenants[m.Tenant], environments[m.Environment] = true, true, true
		if f.selectsCluster(r.cluster) {
			if s.rows = append(s.rows, r); strings.Contains(m.Name, text) {
				byName = append(byName, r)
			}
		}
	}
	var byComponent []Component
	for _, c := range s.seen {
		groups[c.Group] = true
		if f.selectsComponent(c) {
			if s.components = append(s.components, c); strings.Contains(c.Name, text) {
				byComponent = append(byComponent, c)
			}
		}
	}
	sorted := func(m map[string]bool) []string {
		delete(m, "")
		return append([]string{}, slices.Sorted(maps.Keys(m))...)
	}
	s.Options = Options{sorted(hubs), sorted(tenants), sorted(environments), sorted(groups)}
	if len(byComponent) > 0 && (len(byName) == 0 || len(byName) == len(s.rows)) { // "prod" may be part of both
		s.components = byComponent
	} else {
		s.rows = byName
	}
	return s
}

// visible returns the rows that a scope sees.
func (x *Index) visible(scope access.Reader) []row {
	return slices.DeleteFunc(slices.Clone(x.rows), func(r row) bool { return !access.Visible(scope, r.cluster) })
}

// componentsOf returns the components that any of the rows has and a scope sees, sorted by group
// and name.
func componentsOf(scope access.Reader, rows []row) []Component {
	seen, out := map[cell]bool{}, map[Component]bool{}
	for _, r := range rows {
		for _, c := range r.cells {
			if !seen[c] {
				seen[c] = true
				if name := c.Value().Component; scope.SeesGroup(name.Group) {
					out[name] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(out), Component.compare)
}
