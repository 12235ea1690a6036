// Package yamldoc reads YAML so that every value keeps its place in the file, and writes merged
// values back.
//
//  1. Scalars mean exactly what Helm takes them for: sigs.k8s.io/yaml is asked for every plain
//     scalar that is not obviously a string or a small integer, so `yes` is true, `0123` is 83 and
//     integers of any size stay exact (rule H9). The one exception is the tag `!` alone, which the
//     parser does not tell: `! 12` is a number here.
//  2. Duplicate keys are errors, each with its line (H9). Merge keys (`<<`) follow yaml.v2, hence
//     Helm: keys are set in the order they are written.
//  3. Plain scalars that YAML 1.1 and 1.2 read differently are remembered in Doc.Ambiguous (H9).
//  4. Depth, the number of nodes and the bytes of their texts, aliases counted as often as they are
//     used, are limited, and so is the number of problems that are kept of one file; what is left
//     out is counted (H10).
//  5. Only the first document of a stream counts, as with Helm 3 (helm v3.22.0,
//     pkg/cli/values/options.go; Helm 4 merges all); Doc.Extra says where a second one starts.
//  6. Docs and Nodes are immutable once parsed; what is built from them shares them.
//
// It is the only package that knows the YAML libraries.
package yamldoc

import (
	"slices"
	"sort"

	"github.com/argosy-hub/argosy/internal/problem"
)

// Limits of one document (H10).
const (
	MaxDepth = 100
	MaxNodes = 500_000
	MaxText  = 8 << 20
)

// Kind is what a Node holds.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Number
	String
	Map
	List
)

// String is the kind's name as users know it.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "map", "list"}[k]
}

// Doc is one parsed document.
type Doc struct {
	// File is the document's path in the repository.
	File string
	// Root is the document's value; for an empty document a Null node.
	Root *Node
	// Ambiguous are the first scalars that YAML 1.1 and 1.2 read differently, at most
	// problem.OfFile.
	Ambiguous []Ambiguity
	// Extra is where a second document starts (it is ignored), zero if there is none.
	Extra problem.Pos
}

// Ambiguity is a plain scalar that YAML 1.1 and 1.2 read differently.
type Ambiguity struct {
	Pos   problem.Pos
	Text  string // as written
	Means string // as Helm reads it
	Key   bool   // it stands as a key
}

// Pos is where a node of this document stands.
func (d *Doc) Pos(n *Node) problem.Pos {
	if n == nil {
		return problem.Pos{File: d.File}
	}
	return problem.Pos{File: d.File, Line: int(n.Line), Column: int(n.Column)}
}

// Node is a value with its place. Nodes are shared and must not be changed.
type Node struct {
	// Text is a String's text, a Number's JSON literal, a Bool's "true" or "false"; empty
	// otherwise.
	Text string
	// Doc is the document the node was read from; nil for a node that was made.
	Doc *Doc
	// Fields are a Map's entries, sorted by key.
	Fields []Field
	// Items are a List's elements.
	Items  []*Node
	Line   int32
	Column int32
	Kind   Kind
}

// Field is one entry of a Map.
type Field struct {
	Key    string
	Line   int32 // the key's place
	Column int32
	Value  *Node
}

// Pos is where the node was read; zero for a node that was made.
func (n *Node) Pos() problem.Pos {
	if n == nil || n.Doc == nil {
		return problem.Pos{}
	}
	return n.Doc.Pos(n)
}

// Get is the value of a Map's key, nil if there is none or the node is no Map.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	if i, ok := n.index(key); ok {
		return n.Fields[i].Value
	}
	return nil
}

// KeyPos is where a Map's key stands; zero if there is none.
func (n *Node) KeyPos(key string) problem.Pos {
	if i, ok := n.index(key); ok {
		f := n.Fields[i]
		doc := f.Value.Doc // a merged map holds fields of several documents: the value knows its own
		if doc == nil {
			doc = n.Doc
		}
		if doc != nil {
			return problem.Pos{File: doc.File, Line: int(f.Line), Column: int(f.Column)}
		}
	}
	return n.Pos()
}

// WithoutNulls is the value without the keys of its maps that are null. In a merged value such a
// key has removed what lower layers say of it (H2), and says nothing itself: who decodes the value
// must not take it for empty.
func (n *Node) WithoutNulls() *Node {
	if n == nil || !slices.ContainsFunc(n.Fields, holdsNulls) && !slices.ContainsFunc(n.Items, (*Node).nullBelow) {
		return n
	}
	out := *n
	out.Fields, out.Items = nil, make([]*Node, 0, len(n.Items))
	for _, f := range n.Fields {
		if !f.Value.IsNull() {
			f.Value = f.Value.WithoutNulls()
			out.Fields = append(out.Fields, f)
		}
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, item.WithoutNulls())
	}
	return &out
}

func holdsNulls(f Field) bool { return f.Value.IsNull() || f.Value.nullBelow() }

// nullBelow reports whether any map at or below the node has a key that is null.
func (n *Node) nullBelow() bool {
	return slices.ContainsFunc(n.Fields, holdsNulls) || slices.ContainsFunc(n.Items, (*Node).nullBelow)
}

func (n *Node) index(key string) (int, bool) {
	i := sort.Search(len(n.Fields), func(i int) bool { return n.Fields[i].Key >= key })
	return i, i < len(n.Fields) && n.Fields[i].Key == key
}

// IsMap reports whether the node is a Map; a nil node is none.
func (n *Node) IsMap() bool { return n != nil && n.Kind == Map }

// IsNull reports whether the node is absent or null.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Null }
