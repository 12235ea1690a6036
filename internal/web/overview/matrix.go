package overview

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/service/access"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

// PageSize bounds the clusters of one page, and maxColumns its components.
const (
	PageSize   = 50
	maxColumns = 40
)

// Matrix is a page of clusters and their components.
type Matrix struct {
	Selection
	// By is the grouping of Rows: hub, tenant, environment, group or a label's key; empty for none.
	By string `json:"by,omitempty"`
	// Clusters counts the clusters that the filter selects. All counts the clusters that the reader
	// may see.
	Clusters int `json:"clusters"`
	All      int `json:"allClusters"`
	// Page counts from 1.
	Page  int `json:"page"`
	Pages int `json:"pages"`
	// Columns are the components that any of the selected clusters runs, by group and name.
	// AllColumns counts them.
	Columns    []Column `json:"columns"`
	AllColumns int      `json:"allColumns"`
	// Unwatched says why the running state of every cluster is unknown; empty if it is known.
	Unwatched string `json:"unwatched,omitempty"`
	Rows      []Row  `json:"rows"`
}

// Column is a component with its versions on the selected clusters.
type Column struct {
	Component
	// Versions are sorted by their number of clusters, most first.
	Versions []VersionCount `json:"versions"`
}

// VersionCount says how many clusters have a version.
type VersionCount struct {
	Version  string `json:"version"`
	Clusters int    `json:"clusters"`
}

// Row is one cluster.
type Row struct {
	Cluster
	// Section is the value that the row is grouped by.
	Section string `json:"section,omitempty"`
	// Rings are the cluster's rings in rollouts: ring, or policy/ring where there are several
	// policies.
	Rings []string `json:"rings,omitempty"`
	// Cells are in the order of the columns.
	Cells []Cell `json:"cells"`
}

// Cluster describes a member in a few words.
type Cluster struct {
	Hub         string `json:"hub"`
	Name        string `json:"cluster"`
	Tenant      string `json:"tenant"`
	Environment string `json:"environment"`
	IsHub       bool   `json:"isHub,omitempty"`
	// Held is the reason that holds the cluster as a whole; empty for none.
	Held hold.Reason `json:"held,omitempty"`
}

// Cell is one component on one cluster.
type Cell struct {
	// State is one of explain's states, Unknown, or empty where no catalog knows the component.
	State   string `json:"state"`
	Version string `json:"version,omitempty"`
	Release string `json:"release,omitempty"`
	// Usual is the version of most clusters in the environment, where this one differs.
	Usual   string   `json:"usual,omitempty"`
	Running *Running `json:"running,omitempty"`
}

// Deployed reports whether the component is wanted on the cluster.
func (c Cell) Deployed() bool { return c.State == explain.Deployed }

// Matrix returns a page of the clusters and components that a filter selects.
func (x *Index) Matrix(scope access.Reader, live Live, f Filter, by string, page int) Matrix {
	out := Matrix{Selection: x.Select(scope, f), By: by, Columns: []Column{}, Rows: []Row{}}
	if !x.watched() {
		out.Unwatched = unwatched
	}
	rows := out.rows
	out.All, out.Clusters = len(out.all), len(rows)
	section := sectionOf(by)
	if by != "" {
		slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(section(a.cluster), section(b.cluster)) })
	}
	counts := versions(rows)
	for _, c := range out.components {
		if versions := counts[c]; len(versions) > 0 || f.Component != "" {
			out.AllColumns++
			if len(out.Columns) < maxColumns {
				out.Columns = append(out.Columns, Column{c, versions})
			}
		}
	}
	out.Pages = max(1, (len(rows)+PageSize-1)/PageSize)
	out.Page = min(max(1, page), out.Pages)
	usual := majorities(out.all)
	for _, r := range rows[min(len(rows), (out.Page-1)*PageSize):min(len(rows), out.Page*PageSize)] {
		line := Row{Cluster: x.cluster(r.cluster), Section: section(r.cluster), Cells: make([]Cell, 0, len(out.Columns))}
		line.Rings = x.ringsOf(r, scope)
		for _, c := range out.Columns {
			line.Cells = append(line.Cells, x.cell(r, c.Component, live, usual))
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

// cell describes a component on a row's cluster.
func (x *Index) cell(r row, name Component, live Live, usual map[place]majority) Cell {
	d, ok := r.of(name)
	if !ok {
		if len(r.cluster.BlockingProblems()) > 0 {
			return Cell{State: Unknown}
		}
		return Cell{}
	}
	out := Cell{State: d.state, Release: d.release}
	if d.state != explain.Deployed {
		return out
	}
	out.Version = d.version()
	if m, ok := usual[place{r.cluster.Member.Environment, name}]; ok && m.version != out.Version {
		out.Usual = m.version
	}
	is := x.running(live, r.cluster, name.Group, name.Name)
	is.Other = is.Version != "" && d.chart.Name != "" && isPinned(d) && is.Version != d.chart.Version
	out.Running = &is
	return out
}

// versions counts the versions of each component.
func versions(rows []row) map[Component][]VersionCount {
	counts := map[cell]int{}
	for _, r := range rows {
		for _, c := range r.cells {
			counts[c]++
		}
	}
	out := map[Component][]VersionCount{}
	for k, n := range counts {
		d := k.Value()
		if d.state != explain.Deployed {
			continue
		}
		at := slices.IndexFunc(out[d.Component], func(v VersionCount) bool { return v.Version == d.version() })
		if at < 0 {
			at = len(out[d.Component])
			out[d.Component] = append(out[d.Component], VersionCount{Version: d.version()})
		}
		out[d.Component][at].Clusters += n
	}
	for _, versions := range out {
		slices.SortFunc(versions, func(a, b VersionCount) int {
			return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), strings.Compare(a.Version, b.Version))
		})
	}
	return out
}

// sectionOf returns a function that returns the section of a cluster.
func sectionOf(by string) func(*fleetstate.Cluster) string {
	return func(c *fleetstate.Cluster) string {
		switch by {
		case "":
			return ""
		case "hub":
			return c.Member.Hub
		case "tenant":
			return c.Member.Tenant
		case "environment":
			return c.Member.Environment
		}
		return c.Labels.All[by]
	}
}

// cluster describes a member.
func (x *Index) cluster(c *fleetstate.Cluster) Cluster {
	m := c.Member
	out := Cluster{Hub: m.Hub, Name: m.Name, Tenant: m.Tenant, Environment: m.Environment, IsHub: m.IsHub}
	if holds := hold.OfMember(x.st, c); len(holds) > 0 {
		out.Held = holds[0].Reason
	}
	return out
}

// ringsOf returns the rings that a cluster is in, of the rollouts that a scope sees. It adds the
// policy's name where the fleet has several policies.
func (x *Index) ringsOf(r row, scope access.Reader) (out []string) {
	for _, p := range x.st.Fleet.Rollouts {
		m := r.cluster.Member.InRollout()
		if !p.Covers(m) || !access.SeesRollout(scope, x.st.Fleet, p) {
			continue
		}
		name := p.Rings[p.RingOf(m)].Name
		if len(x.st.Fleet.Rollouts) > 1 {
			name = p.Name + "/" + name
		}
		out = append(out, name)
	}
	return out
}
