package overview

import (
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/service/access"
)

// maxDifferences bounds the values of a Comparison.
const maxDifferences = 500

// Comparison holds the differences between two clusters.
type Comparison struct {
	A *Cluster `json:"a,omitempty"`
	B *Cluster `json:"b,omitempty"`
	// Clusters are the names to choose from, hub/cluster, the first 2,000.
	Clusters []string `json:"clusters"`
	// Releases are the groups whose releases differ.
	Releases   []DifferentRelease `json:"releases"`
	Components []Difference       `json:"components"`
	// Same counts the components without a difference, and Values the different values.
	Same   int `json:"same"`
	Values int `json:"values"`
}

// DifferentRelease is a group whose release differs between the clusters.
type DifferentRelease struct {
	Group string `json:"group"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// Difference is a component that differs.
type Difference struct {
	Component
	A      Cell             `json:"a"`
	B      Cell             `json:"b"`
	Values []DifferentValue `json:"values"`
}

// DifferentValue is a value that differs, with the place of each side; nil where a side has none.
type DifferentValue struct {
	Path string       `json:"path"`
	A    *PlacedValue `json:"a,omitempty"`
	B    *PlacedValue `json:"b,omitempty"`
}

// PlacedValue is a value and where it is set.
type PlacedValue struct {
	Value    any         `json:"value"`
	Level    string      `json:"level"`
	Position problem.Pos `json:"position,omitzero"`
}

// maxNames bounds the names that a form offers.
const maxNames = 2000

// Compare compares two clusters, each named as hub/cluster or cluster. Without both names it only
// offers names.
func (x *Index) Compare(scope access.Reader, a, b string) (Comparison, error) {
	rows := x.visible(scope)
	out := Comparison{Clusters: []string{}, Releases: []DifferentRelease{}, Components: []Difference{}}
	for _, r := range rows[:min(len(rows), maxNames)] {
		out.Clusters = append(out.Clusters, r.cluster.Member.Hub+"/"+r.cluster.Member.Name)
	}
	if a == "" || b == "" {
		return out, nil
	}
	left, err := x.row(scope, a)
	if err != nil {
		return out, err
	}
	right, err := x.row(scope, b)
	if err != nil {
		return out, err
	}
	ofA, ofB := x.cluster(left.cluster), x.cluster(right.cluster)
	out.A, out.B = &ofA, &ofB
	for _, group := range x.st.Groups() {
		a, b := left.cluster.Groups[group], right.cluster.Groups[group]
		if scope.SeesGroup(group) && a != nil && b != nil && a.Release.Type != b.Release.Type {
			out.Releases = append(out.Releases, DifferentRelease{group, a.Release.Type, b.Release.Type})
		}
	}
	for _, name := range componentsOf(scope, []row{left, right}) {
		d := Difference{Component: name, A: x.desiredCell(left, name), B: x.desiredCell(right, name), Values: []DifferentValue{}}
		if d.A.Deployed() && d.B.Deployed() {
			values := differentValues(x.leaves(left.cluster, name), x.leaves(right.cluster, name))
			d.Values = append(d.Values, values[:min(len(values), max(0, maxDifferences-out.Values))]...)
			out.Values += len(values)
		}
		if d.A == d.B && len(d.Values) == 0 {
			out.Same++
			continue
		}
		out.Components = append(out.Components, d)
	}
	return problem.Relocate(out, x.st.Resolver().Snapshot.Locate), nil
}

// row finds a visible cluster's row by hub/cluster or cluster.
func (x *Index) row(scope access.Reader, name string) (row, error) {
	hub, cluster, isFull := strings.Cut(name, "/")
	if !isFull {
		hub, cluster = "", name
	}
	c, err := access.FindCluster(x.st, scope, hub, cluster)
	if err != nil {
		return row{}, err
	}
	return x.rowOf(c), nil
}

// rowOf returns the row of a cluster of the state.
func (x *Index) rowOf(c *fleetstate.Cluster) row {
	return x.rows[slices.IndexFunc(x.rows, func(r row) bool { return r.cluster == c })]
}

// desiredCell returns a cell without its running state.
func (x *Index) desiredCell(r row, component Component) Cell {
	c := x.cell(r, component, Live{}, nil)
	c.Running, c.Release = nil, "" // the release is one of the group
	return c
}

// leaves returns the merged values of a component on a cluster.
func (x *Index) leaves(c *fleetstate.Cluster, of Component) []hierarchy.Leaf {
	t := x.values(c, of)
	if t == nil {
		return nil
	}
	return t.Leaves(nil)
}

// values returns the merged values of a deployed component, nil where there are none.
func (x *Index) values(c *fleetstate.Cluster, of Component) *hierarchy.Tree {
	g := c.Groups[of.Group]
	if g == nil {
		return nil
	}
	r, problems := x.st.ResolverOf(c).Resolve(c, g, of.Name, nil)
	if len(problems) > 0 {
		return nil
	}
	return r.Values
}

// differentValues pairs the leaves of two trees, which are in the order of their paths.
func differentValues(a, b []hierarchy.Leaf) (out []DifferentValue) {
	of := func(l hierarchy.Leaf) *PlacedValue { return &PlacedValue{l.Value.Any(), l.Level, l.Pos} }
	for len(a) > 0 || len(b) > 0 {
		switch c := compareHeads(a, b); {
		case c < 0:
			out = append(out, DifferentValue{Path: hierarchy.FormatPath(a[0].Path), A: of(a[0])})
			a = a[1:]
		case c > 0:
			out = append(out, DifferentValue{Path: hierarchy.FormatPath(b[0].Path), B: of(b[0])})
			b = b[1:]
		default:
			if l, r := of(a[0]), of(b[0]); !reflect.DeepEqual(l.Value, r.Value) {
				out = append(out, DifferentValue{hierarchy.FormatPath(a[0].Path), l, r})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

func compareHeads(a, b []hierarchy.Leaf) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return slices.Compare(a[0].Path, b[0].Path)
}
