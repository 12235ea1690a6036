package hierarchy

import (
	"fmt"
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// Layer holds the values of one level: a file, or a part of one.
type Layer struct {
	// Level is the level's name.
	Level string
	// Path is the file's path in the repository, even if the file does not exist.
	Path string
	// Root holds the values, a Map or Null; nil when the layer is missing.
	Root *yamldoc.Node
	// Nodes is the number of values in the file.
	Nodes int
}

// Missing reports whether the level has no file here.
func (l Layer) Missing() bool { return l.Root == nil }

// Tree is the result of merging layers. A nil Tree is empty. Trees are immutable, and share values
// with each other and with the documents they were read from.
type Tree struct {
	// Root holds the merged values: a Map, or nil when no layer has any.
	Root *yamldoc.Node

	below     *Tree
	layer     Layer
	rules     Rules
	conflicts []problem.Problem // of this layer with lower ones, at most problem.OfFile
	written   int               // fields of the maps that the merge made
}

// Written returns how many fields the merge of the last layer wrote: those that the tree does not
// share with its layers and the trees below.
func (t *Tree) Written() int { return t.written }

// Merge applies layers, least specific first.
func Merge(layers []Layer, rules Rules) *Tree {
	var t *Tree
	for _, l := range layers {
		t = t.With(l, rules)
	}
	return t
}

// With applies one more layer on top. The tree itself does not change.
func (t *Tree) With(l Layer, rules Rules) *Tree {
	m := newMerger(rules, nil)
	defer m.done()
	out := &Tree{Root: m.layer(t.root(), l.Root), below: t, layer: l, rules: rules, conflicts: m.conflicts}
	out.written = m.written
	if m.unlisted > 0 {
		out.conflicts = append(out.conflicts, problem.More(m.conflicts[0], m.unlisted, problem.Warning))
	}
	return out
}

// root returns Root, nil for a nil Tree.
func (t *Tree) root() *yamldoc.Node {
	if t == nil {
		return nil
	}
	return t.Root
}

// Conflicts returns the type conflicts of all layers, in order of position.
func (t *Tree) Conflicts() []problem.Problem {
	var out []problem.Problem
	for ; t != nil; t = t.below {
		out = append(out, t.conflicts...)
	}
	return problem.Sorted(out)
}

// ConflictsBut returns the conflicts of all layers that are not in seen, and marks these layers as
// seen. Trees share their lower layers, so that a caller with many trees gets each conflict once.
func (t *Tree) ConflictsBut(seen map[*Tree]bool) []problem.Problem {
	var out []problem.Problem
	for ; t != nil && !seen[t]; t = t.below {
		seen[t] = true
		out = append(out, t.conflicts...)
	}
	return out
}

// First returns the least specific layer, the zero value for an empty tree.
func (t *Tree) First() Layer {
	if t == nil {
		return Layer{}
	}
	for t.below != nil {
		t = t.below
	}
	return t.layer
}

// Layers returns the layers of the tree, least specific first, missing ones included.
func (t *Tree) Layers() []Layer {
	var out []Layer
	for ; t != nil; t = t.below {
		out = append(out, t.layer)
	}
	slices.Reverse(out)
	return out
}

// merger merges one layer. A pool reuses mergers, because there are very many layers.
type merger struct {
	rules     Rules
	conflicts []problem.Problem
	unlisted  int      // conflicts beyond the limit of those that are kept
	replaced  replaced // records replaced values on demand; else nil

	written int             // fields of all maps made
	path    []string        // of the current value
	fields  []yamldoc.Field // merged so far, of the maps around the current value
}

var mergers = sync.Pool{New: func() any { return &merger{} }}

func newMerger(rules Rules, r replaced) *merger {
	m, _ := mergers.Get().(*merger)
	m.rules, m.replaced = rules, r
	return m
}

// done returns the merger to the pool, without references to the result.
func (m *merger) done() {
	if cap(m.fields) > 1<<12 {
		m.fields = nil // of a huge layer
	}
	clear(m.fields[:cap(m.fields)])
	*m = merger{path: m.path[:0], fields: m.fields[:0]}
	mergers.Put(m)
}

// layer applies a layer's values, if any, to the values of the layers below, if any.
func (m *merger) layer(lower, l *yamldoc.Node) *yamldoc.Node {
	switch {
	case !l.IsMap():
		return lower
	case lower == nil:
		return l
	}
	return m.maps(lower, l)
}

// maps merges two maps, both sorted by key.
func (m *merger) maps(a, b *yamldoc.Node) *yamldoc.Node {
	lower, upper := a.Fields(), b.Fields()
	if len(upper) == 0 {
		return a
	}
	start := len(m.fields)
	i, j := 0, 0
	for i < len(lower) && j < len(upper) {
		switch x, y := lower[i], upper[j]; {
		case x.Key < y.Key:
			m.fields = append(m.fields, x)
			i++
		case y.Key < x.Key:
			m.fields = append(m.fields, y)
			j++
		default:
			m.fields = append(m.fields, m.field(x, y))
			i++
			j++
		}
	}
	m.fields = append(append(m.fields, lower[i:]...), upper[j:]...)
	return m.made(a, b, start)
}

// made makes the map of the fields merged since start. It replaces a, and its place is b's.
func (m *merger) made(a, b *yamldoc.Node, start int) *yamldoc.Node {
	out := yamldoc.MapAt(b, slices.Clone(m.fields[start:]))
	m.written += len(m.fields) - start
	m.fields = m.fields[:start]
	m.replaced.note(out, m.replaced[a])
	return out
}

// field merges two fields of one key; b is the later layer's, and wins where a map meets a non-map.
func (m *merger) field(a, b yamldoc.Field) yamldoc.Field {
	m.path = append(m.path, b.Key)
	defer func() { m.path = m.path[:len(m.path)-1] }()
	x, y := a.Value, b.Value
	switch rule := m.rules.at(m.path); {
	case !merge(x, y, rule):
		if x.IsMap() != y.IsMap() && !x.IsNull() && !y.IsNull() {
			m.conflict(x, y)
		}
		b.Value = m.replaced.won(y, x)
	case x.IsMap():
		if b.Value = m.maps(x, y); b.Value == x {
			return a // an empty map adds nothing: the key's place stays with its value
		}
	default:
		b.Value = m.lists(x, rule, y)
	}
	return b
}

// merge reports whether two values become one by a rule, nil for the default. Otherwise the later
// value replaces the other.
func merge(a, b *yamldoc.Node, rule *Rule) bool {
	switch {
	case a.IsMap() && b.IsMap():
		return rule == nil || rule.Strategy != Replace
	case a.Kind == yamldoc.List && b.Kind == yamldoc.List:
		return rule != nil && rule.Strategy != Replace
	}
	return false
}

func (m *merger) conflict(a, b *yamldoc.Node) {
	if len(m.conflicts) == problem.OfFile {
		m.unlisted++
		return
	}
	m.conflicts = append(m.conflicts, problem.Problem{
		Reason: problem.TypeConflict, Severity: problem.Warning, Pos: b.Pos(), Subject: fmt.Sprintf("value %q", FormatPath(m.path)),
		Found:   fmt.Sprintf("a %s replaces a %s", b.Kind, a.Kind),
		Related: []problem.Pos{a.Pos()}, Hints: []string{"write null first to remove what lower layers set, or use the same type"},
	})
}

// Equal reports whether two nodes hold the same value, whatever their places.
func Equal(a, b *yamldoc.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Literal() == b.Literal() &&
		slices.EqualFunc(a.Fields(), b.Fields(), func(x, y yamldoc.Field) bool { return x.Key == y.Key && Equal(x.Value, y.Value) }) &&
		slices.EqualFunc(a.Items(), b.Items(), Equal)
}
