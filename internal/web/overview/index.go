package overview

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
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
	state   string
	release string
	// owned reports that the member's own engine owns the group.
	owned     bool
	chart     catalog.Chart
	namespace string
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
	st         *fleetstate.State
	components []Component
	column     map[Component]uint32
	rows       []row // by hub and name
	releases   map[releaseKey]facts.Application

	// usual and counts return the majorities and versions of all rows. Most readers see all.
	usual  func() map[place]majority
	counts func() map[uint32][]VersionCount
}

// row is one cluster.
type row struct {
	cluster *fleetstate.Cluster
	cells   []cell
}

// cell refers to a component and its desired state; equal states are in memory once.
type cell struct {
	component uint32
	desired   unique.Handle[desired]
}

// Cache holds the Index of the last state. Its zero value is empty.
type Cache struct {
	mu   sync.Mutex
	last *Index
}

// Of returns the Index of a state.
func (c *Cache) Of(st *fleetstate.State) *Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || c.last.st != st {
		c.last = newIndex(c.last, st)
	}
	return c.last
}

// maxComponents bounds the components of an Index. Some of them may no longer be used.
const maxComponents = 10_000

// newIndex builds an Index. It reuses the rows of clusters that did not change from the previous
// Index, which may be nil.
func newIndex(previous *Index, st *fleetstate.State) *Index {
	x := &Index{st: st, releases: releasesOf(st), column: map[Component]uint32{}}
	x.usual = sync.OnceValue(func() map[place]majority { return x.majoritiesOf(x.rows) })
	x.counts = sync.OnceValue(func() map[uint32][]VersionCount { return x.versionsOf(x.rows) })
	known := map[*fleetstate.Cluster][]cell{}
	if previous != nil && len(previous.components) < maxComponents {
		x.components, x.column = slices.Clone(previous.components), maps.Clone(previous.column)
		for _, r := range previous.rows {
			known[r.cluster] = r.cells
		}
	}
	var anew []int
	for _, c := range st.Clusters() {
		cells, ok := known[c]
		if !ok {
			anew = append(anew, len(x.rows))
		}
		x.rows = append(x.rows, row{c, cells})
	}
	const at = 512 // clusters at once: bounds the memory before equal ones are shared
	for part := range slices.Chunk(anew, at) {
		found := make([][]named, len(part))
		run.Each(len(part), func(i int) { found[i] = desiredOf(st, x.rows[part[i]].cluster) })
		for i, n := range part {
			x.rows[n].cells = x.cellsOf(found[i])
		}
	}
	return x
}

type named struct {
	Component
	desired
}

// desiredOf returns the desired state of all components that the catalogs know for a cluster.
func desiredOf(st *fleetstate.State, c *fleetstate.Cluster) (out []named) {
	if len(c.BlockingProblems()) > 0 {
		return nil
	}
	resolver, m := st.ResolverOf(c), c.Member
	for name, g := range c.Groups {
		byRelease := released.GroupOf(st, c, g)
		for _, component := range g.Components() {
			d := desired{state: Unknown, release: g.Release.Type, owned: m.Owner(name) != fleet.OwnerHub}
			if r, problems := resolver.ResolveCoordinates(c, g, component); len(problems) == 0 && len(g.Errors) == 0 {
				if !r.Known {
					continue
				}
				if r.Enabled && byRelease.Lacks(r) {
					out = append(out, named{Component{name, component}, d})
					continue
				}
				d.state, d.chart, d.namespace = stateOf(c, name, r), r.Chart, r.Namespace
			}
			out = append(out, named{Component{name, component}, d})
		}
	}
	return out
}

// stateOf returns the state that explain reports.
func stateOf(c *fleetstate.Cluster, group string, r fleetstate.Component) string {
	switch {
	case !r.Enabled && !r.Entry.Enabled:
		return explain.SwitchedOff
	case !r.Enabled:
		return explain.NotSelected
	case c.Member.Lifecycle == fleet.Retired:
		return explain.Retired
	case !lifecycle.IsReachable(c, group):
		return explain.NotRegistered
	}
	return explain.Deployed
}

func (x *Index) cellsOf(all []named) []cell {
	out := make([]cell, 0, len(all))
	for _, n := range all {
		column, ok := x.column[n.Component]
		if !ok {
			column = uint32(len(x.components)) //nolint:gosec // bounded by the limits of a repository
			x.column[n.Component], x.components = column, append(x.components, n.Component)
		}
		out = append(out, cell{column, unique.Make(n.desired)})
	}
	slices.SortFunc(out, func(a, b cell) int { return cmp.Compare(a.component, b.component) })
	return out
}

// of returns the desired state of a component on a row's cluster; false where no catalog knows it.
func (x *Index) of(r row, component uint32) (desired, bool) {
	i, ok := slices.BinarySearchFunc(r.cells, component, func(c cell, n uint32) int { return cmp.Compare(c.component, n) })
	if !ok {
		return desired{}, false
	}
	return r.cells[i].desired.Value(), true
}
