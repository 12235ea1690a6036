package catalog

import "slices"

// A CycleFinder finds what depends on itself, directly or through others: the strongly connected
// components of a graph, by R. Tarjan's algorithm (Depth-first search and linear graph algorithms,
// 1972), in a time linear in nodes and dependencies.
type CycleFinder[N comparable] struct {
	next  func(N) []N
	nodes map[N]*node[N]
	open  []N // visited, and not in a group yet
}

// node is the state of a node in the search. Visited is the order in which it was reached, from 1.
// Low is the lowest such number among the open nodes that it leads to.
type node[N comparable] struct {
	visited, low int
	isLoop       bool
	group        []N
}

// NewCycleFinder makes a CycleFinder of a graph in which next returns what a node depends on.
func NewCycleFinder[N comparable](next func(N) []N) *CycleFinder[N] {
	return &CycleFinder[N]{next: next, nodes: map[N]*node[N]{}}
}

// Group returns all nodes that a node leads to and that lead to it, itself among them. It must not
// be changed.
func (f *CycleFinder[N]) Group(n N) []N { return f.visit(n).group }

// IsLoop reports whether a node leads to itself.
func (f *CycleFinder[N]) IsLoop(n N) bool { return f.visit(n).isLoop }

func (f *CycleFinder[N]) visit(n N) *node[N] {
	if v := f.nodes[n]; v != nil {
		return v
	}
	at := len(f.open)
	v := &node[N]{visited: len(f.nodes) + 1}
	v.low = v.visited
	f.nodes[n] = v
	f.open = append(f.open, n)
	for _, to := range f.next(n) {
		v.isLoop = v.isLoop || to == n
		if x := f.visit(to); x.group == nil {
			v.low = min(v.low, x.low)
		}
	}
	if v.low == v.visited {
		group := slices.Clone(f.open[at:])
		f.open = f.open[:at]
		for _, member := range group {
			x := f.nodes[member]
			x.group, x.isLoop = group, x.isLoop || len(group) > 1
		}
	}
	return v
}
