package hierarchy

import (
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Origin is where a value comes from (H7).
type Origin struct {
	Level string
	Pos   problem.Pos
	Value *yamldoc.Node
}

// At is the value at a path, nil if there is none. Elements of lists are named by their index.
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
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil
			}
			n = n.Items[i]
		default:
			n = n.Get(part)
		}
	}
	return n
}

// Origin is who set the value at a path; false if there is no such value.
func (t *Tree) Origin(path []string) (Origin, bool) {
	n := t.At(path)
	if n == nil {
		return Origin{}, false
	}
	return t.originOf(n), true
}

// History are those whom the value at a path replaced, the most recent first.
func (t *Tree) History(path []string) []Origin {
	root, beaten := t.told()
	return t.replacedBy(at(root, path), beaten)
}

// beaten is what values of a merged tree have replaced: a value of a layer below, which may have
// replaced one itself. It is asked for few trees, by people, and takes more than a tree; so it is
// found by merging the layers once more. A nil one notes nothing.
type beaten map[*yamldoc.Node]*yamldoc.Node

// won is the value that has replaced another: the layer's own, or where this is to be noted, a
// copy, as the layer's may stand in many places.
func (b beaten) won(winner, loser *yamldoc.Node) *yamldoc.Node {
	if b == nil {
		return winner
	}
	own := *winner
	b.note(&own, loser)
	return &own
}

func (b beaten) note(winner, loser *yamldoc.Node) {
	if b != nil && loser != nil {
		b[winner] = loser
	}
}

// told merges the tree's layers once more, and tells what values have replaced.
func (t *Tree) told() (*yamldoc.Node, beaten) {
	var trees []*Tree
	for ; t != nil; t = t.below {
		trees = append(trees, t)
	}
	var root *yamldoc.Node
	b := beaten{}
	for _, t := range slices.Backward(trees) {
		m := newMerger(t.rules, b)
		root = m.layer(root, t.layer.Root)
		m.done()
	}
	return root, b
}

func (t *Tree) replacedBy(n *yamldoc.Node, b beaten) []Origin {
	var out []Origin
	for n = b[n]; n != nil; n = b[n] {
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

// Leaf is one value of a tree that holds no further ones with an origin of their own: a scalar,
// null, an empty map, or a list. A list whose elements come from several layers (H4) is taken
// apart.
type Leaf struct {
	Path []string
	Origin
	// Replaced are those whom the value replaced, the most recent first.
	Replaced []Origin
}

// Leaves are all leaves at or below a path, in order of their paths.
func (t *Tree) Leaves(path []string) []Leaf {
	root, beaten := t.told()
	n := at(root, path)
	if n == nil {
		return nil
	}
	var out []Leaf
	t.leaves(n, path, beaten, &out)
	return out
}

func (t *Tree) leaves(n *yamldoc.Node, path []string, beaten beaten, out *[]Leaf) {
	child := func(part string) []string { return append(path[:len(path):len(path)], part) }
	switch {
	case n.Kind == yamldoc.Map && len(n.Fields) > 0:
		for _, f := range n.Fields {
			t.leaves(f.Value, child(f.Key), beaten, out)
		}
	case n.Kind == yamldoc.List && !within(n, n.Doc):
		for i, item := range n.Items {
			t.leaves(item, child(strconv.Itoa(i)), beaten, out)
		}
	default:
		*out = append(*out, Leaf{Path: path, Origin: t.originOf(n), Replaced: t.replacedBy(n, beaten)})
	}
}

// within reports whether all of a value was read from one document.
func within(n *yamldoc.Node, doc *yamldoc.Doc) bool {
	return n.Doc == doc &&
		!slices.ContainsFunc(n.Fields, func(f yamldoc.Field) bool { return !within(f.Value, doc) }) &&
		!slices.ContainsFunc(n.Items, func(item *yamldoc.Node) bool { return !within(item, doc) })
}
