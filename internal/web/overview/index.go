package overview

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unique"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/released"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

// Component names a component of a group.
type Component struct {
	Group string `json:"group"`
	Name  string `json:"component"`
}

func (c Component) compare(d Component) int {
	return cmp.Or(strings.Compare(c.Group, d.Group), strings.Compare(c.Name, d.Name))
}

// Unknown is the state of a component that cannot be computed. Package explain defines the other
// states.
const Unknown = "unknown"

// desired is the desired state of one component on one cluster.
type desired struct {
	state, release string
	chart          catalog.Chart
}

// version returns what a reader sees as the version: the chart's, or "in Git" for a folder.
func (d desired) version() string {
	if d.chart.Version == "" && d.chart.Path != "" {
		return "in Git"
	}
	return d.chart.Version
}

// Index is the desired state of every component of every cluster of one state.
type Index struct {
	st       *fleetstate.State
	rows     []row // by hub and name
	releases map[releaseKey]facts.Application
}

// row is one cluster, with its components by group and name.
type row struct {
	cluster *fleetstate.Cluster
	cells   []cell
}

// cell is a component with its desired state; equal cells are in memory once.
type cell struct{ unique.Handle[named] }

// named is a component with its desired state.
type named struct {
	Component
	desired
}

// Cache holds the Index of the last state. Its zero value is empty.
type Cache struct {
	mu   sync.Mutex
	last *Index
}

// Of returns the Index of a state. It reuses the rows of clusters that the state reused.
func (c *Cache) Of(st *fleetstate.State) *Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.last.st == st {
		return c.last
	}
	known := map[*fleetstate.Cluster][]cell{}
	if c.last != nil {
		for _, r := range c.last.rows {
			known[r.cluster] = r.cells
		}
	}
	x := &Index{st: st, releases: releasesOf(st)}
	for _, cluster := range st.Clusters() {
		x.rows = append(x.rows, row{cluster, known[cluster]})
	}
	run.Each(len(x.rows), func(i int) {
		if r := &x.rows[i]; r.cells == nil {
			r.cells = cellsOf(st, r.cluster)
		}
	})
	c.last = x
	return x
}

// cellsOf returns the desired state of all components that the catalogs know for a cluster.
func cellsOf(st *fleetstate.State, c *fleetstate.Cluster) []cell {
	out := []cell{}
	if len(c.BlockingProblems()) > 0 {
		return out
	}
	resolver := st.ResolverOf(c)
	for name, g := range c.Groups {
		byRelease := released.GroupOf(st, c, g)
		for _, component := range g.Components() {
			d := desired{state: Unknown, release: g.Release.Type}
			if r, problems := resolver.ResolveCoordinates(c, g, component); len(problems) == 0 && len(g.Errors) == 0 {
				if !r.Known {
					continue
				}
				if !r.Enabled || !byRelease.Lacks(r) {
					d.state, d.chart = explain.StateOf(c, name, r.Enabled || r.Entry.Enabled, r.Enabled), r.Chart
				}
			}
			out = append(out, cell{unique.Make(named{Component{name, component}, d})})
		}
	}
	slices.SortFunc(out, func(a, b cell) int { return a.Value().compare(b.Value().Component) })
	return out
}

// of returns the desired state of a component on the row's cluster; false where no catalog knows
// it.
func (r row) of(c Component) (desired, bool) {
	i, ok := slices.BinarySearchFunc(r.cells, c, func(cell cell, c Component) int { return cell.Value().compare(c) })
	if !ok {
		return desired{}, false
	}
	return r.cells[i].Value().desired, true
}
