package hierarchy

import (
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// Origin is the place that a value comes from.
type Origin struct {
	Level string
	Pos   problem.Pos
	Value *yamldoc.Node
}

// At returns the value at a path, nil if there is none. Elements of lists are named by their index.
func (t *Tree) At(path []string) *yamldoc.Node {
	return at(t.root(), path)
}

func at(n *yamldoc.Node, path []string) *yamldoc.Node {
	for _, part := range path {
		switch {
		case n == nil:
			return nil
		case n.Kind == yamldoc.List:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n.Items()) {
				return nil
			}
			n = n.Items()[i]
		default:
			n = n.Get(part)
		}
	}
	return n
}

// Null returns the place of the null at a path or above it, which removes what lower layers set;
// zero if there is none.
func (t *Tree) Null(path []string) problem.Pos {
	for i := range len(path) + 1 {
		if n := t.At(path[:i]); n != nil && n.Kind == yamldoc.Null {
			return n.Pos()
		}
	}
	return problem.Pos{}
}

// Origin returns the level and place that set the value at a path; false if there is no such value.
func (t *Tree) Origin(path []string) (Origin, bool) {
	n := t.At(path)
	if n == nil {
		return Origin{}, false
	}
	return t.originOf(n), true
}

// History returns the origins of the values that the value at a path replaced, the latest first.
func (t *Tree) History(path []string) []Origin {
	root, r := t.withReplaced()
	return t.replacedBy(at(root, path), r)
}

// replaced maps a value of a merged tree to the value of a lower layer that it replaced, which may
// have replaced one itself. It takes more memory than a tree and is rarely needed, so it is made on
// demand by merging the layers once more. A nil one records nothing.
type replaced map[*yamldoc.Node]*yamldoc.Node

// won returns the value that replaces another: the layer's own, or a copy where replaced values are
// recorded, because the layer's value may be in many places.
func (r replaced) won(winner, loser *yamldoc.Node) *yamldoc.Node {
	if r == nil {
		return winner
	}
	own := *winner
	r.note(&own, loser)
	return &own
}

func (r replaced) note(winner, loser *yamldoc.Node) {
	if r != nil && loser != nil {
		r[winner] = loser
	}
}

// withReplaced merges the tree's layers once more and records which values were replaced.
func (t *Tree) withReplaced() (*yamldoc.Node, replaced) {
	var trees []*Tree
	for ; t != nil; t = t.below {
		trees = append(trees, t)
	}
	var root *yamldoc.Node
	r := replaced{}
	for _, t := range slices.Backward(trees) {
		m := newMerger(t.rules, r)
		root = m.layer(root, t.layer.Root)
		m.done()
	}
	return root, r
}

func (t *Tree) replacedBy(n *yamldoc.Node, r replaced) []Origin {
	var out []Origin
	for n = r[n]; n != nil; n = r[n] {
		out = append(out, t.originOf(n))
	}
	return out
}

func (t *Tree) originOf(n *yamldoc.Node) Origin {
	o := Origin{Pos: n.Pos(), Value: n}
	for ; t != nil; t = t.below {
		if t.layer.Root != nil && t.layer.Root.Doc == n.Doc {
			o.Level = t.layer.Level
			break
		}
	}
	return o
}

// Leaf is a value of a tree that has one origin: a scalar, null, an empty map, or a list. A list
// whose elements come from several layers has a leaf for each.
type Leaf struct {
	Path []string
	Origin
	// Replaced are the origins of the values that it replaced, the latest first.
	Replaced []Origin
}

// Leaves returns all leaves at or below a path, in order of their paths.
func (t *Tree) Leaves(path []string) []Leaf {
	root, r := t.withReplaced()
	n := at(root, path)
	if n == nil {
		return nil
	}
	var out []Leaf
	t.leaves(n, path, r, &out)
	return out
}

func (t *Tree) leaves(n *yamldoc.Node, path []string, r replaced, out *[]Leaf) {
	child := func(part string) []string { return append(path[:len(path):len(path)], part) }
	switch {
	case n.Kind == yamldoc.Map && len(n.Fields()) > 0:
		for _, f := range n.Fields() {
			t.leaves(f.Value, child(f.Key), r, out)
		}
	case n.Kind == yamldoc.List && !within(n, n.Doc):
		for i, item := range n.Items() {
			t.leaves(item, child(strconv.Itoa(i)), r, out)
		}
	default:
		*out = append(*out, Leaf{Path: path, Origin: t.originOf(n), Replaced: t.replacedBy(n, r)})
	}
}

// within reports whether all of a value was read from one document.
func within(n *yamldoc.Node, doc *yamldoc.Doc) bool {
	return n.Doc == doc &&
		!slices.ContainsFunc(n.Fields(), func(f yamldoc.Field) bool { return !within(f.Value, doc) }) &&
		!slices.ContainsFunc(n.Items(), func(item *yamldoc.Node) bool { return !within(item, doc) })
}
