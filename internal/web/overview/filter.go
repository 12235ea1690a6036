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

// visible returns the rows and the columns that a scope sees.
func (x *Index) visible(scope access.Reader) (rows []row, columns []uint32) {
	for _, r := range x.rows {
		if access.Visible(scope, r.cluster) {
			rows = append(rows, r)
		}
	}
	return rows, x.columnsOf(scope, rows)
}

// columnsOf returns the components that any of the rows has, sorted by group and name.
func (x *Index) columnsOf(scope access.Reader, rows []row) (columns []uint32) {
	seen := make([]bool, len(x.components))
	for _, r := range rows {
		for _, c := range r.cells {
			seen[c.component] = true
		}
	}
	for i, c := range x.components {
		if seen[i] && scope.SeesGroup(c.Group) {
			columns = append(columns, uint32(i)) //nolint:gosec // an index
		}
	}
	slices.SortFunc(columns, func(a, b uint32) int { return x.components[a].compare(x.components[b]) })
	return columns
}

// Options returns the filters' values for what a scope sees.
func (x *Index) Options(scope access.Reader) Options { return x.options(x.visible(scope)) }

// options returns the filters' values for visible rows and columns.
func (x *Index) options(rows []row, columns []uint32) Options {
	hubs, tenants, environments, groups := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range rows {
		m := r.cluster.Member
		hubs[m.Hub], tenants[m.Tenant], environments[m.Environment] = true, true, true
	}
	for _, c := range columns {
		groups[x.components[c].Group] = true
	}
	sorted := func(m map[string]bool) []string {
		delete(m, "")
		return append([]string{}, slices.Sorted(maps.Keys(m))...)
	}
	return Options{sorted(hubs), sorted(tenants), sorted(environments), sorted(groups)}
}

// selected returns the rows and columns that a filter selects. A search selects the clusters of
// that name and all their components, or else the components of that name on all clusters.
func (x *Index) selected(f Filter, rows []row, columns []uint32) ([]row, []uint32) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !f.selectsCluster(r.cluster) })
	columns = slices.DeleteFunc(slices.Clone(columns), func(c uint32) bool { return !f.selectsComponent(x.components[c]) })
	if f.Search == "" {
		return rows, columns
	}
	text := strings.ToLower(f.Search)
	byName := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !strings.Contains(r.cluster.Member.Name, text) })
	byComponent := slices.DeleteFunc(slices.Clone(columns), func(c uint32) bool { return !strings.Contains(x.components[c].Name, text) })
	switch {
	case len(byName) > 0 && len(byComponent) > 0: // "prod" may be part of both
		if len(byName) == len(rows) {
			return rows, byComponent
		}
		return byName, columns
	case len(byComponent) > 0:
		return rows, byComponent
	}
	return byName, columns
}
