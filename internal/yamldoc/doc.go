// Package yamldoc reads YAML so that every value keeps its place in the file, and writes merged
// values back.
//
//  1. A scalar means exactly what Helm reads: sigs.k8s.io/yaml decides every plain scalar that is
//     not obviously a string or a small integer. `yes` is true, `0123` is 83, and integers of any
//     size stay exact (H9). The one exception is the tag `!` alone, which the parser does not
//     report: `! 12` is a number here.
//  2. Duplicate keys are errors, each with its line (H9). ParseLenient reads them as Helm 3 does:
//     the last one wins, and Doc.Duplicates lists them. Merge keys (`<<`) follow yaml.v2, hence
//     Helm: keys are set in the order of the file.
//  3. Doc.Ambiguous holds the plain scalars that YAML 1.2 reads otherwise than Helm (H9).
//  4. The depth, the number of nodes, the bytes of text, and the problems kept of one file have
//     limits. Aliases count as often as they are used. Problems beyond the limit are counted (H10).
//  5. Only the first document of a stream counts, as with Helm 3 (helm v3.22.0,
//     pkg/cli/values/options.go; Helm 4 merges all). Doc.Extra is the place of the second one.
//  6. Docs and Nodes are immutable once parsed; values that are built from them share them.
//  7. Places count lines as editors do, not as YAML 1.1 does (places.go).
//
// No other package imports a YAML library for documents.
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

// Kind is the kind of a Node's value.
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
	// Duplicates are the first keys that a map has twice, as warnings in order; ParseLenient alone
	// leaves any. At most problem.OfFile, and one more that counts the rest.
	Duplicates []problem.Problem
	// Ambiguous are the first scalars that YAML 1.1 and 1.2 read differently, at most
	// problem.OfFile.
	Ambiguous []Ambiguity
	// Extra is the place of a second document, which is ignored; zero if there is none.
	Extra problem.Pos
}

// Ambiguity is a plain scalar that YAML 1.1 and 1.2 read differently.
type Ambiguity struct {
	Pos   problem.Pos
	Text  string // as written
	Means string // as Helm reads it
	Key   bool   // it stands as a key
}

// Pos is the place of a node of this document.
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

// Pos is the place that the node was read from; zero for a node that was made.
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

// KeyPos is the place of a Map's key, or the map's if there is none.
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

// NodeMemory is about what a node without a text takes in memory, in bytes.
const NodeMemory = 160

// Memory estimates what a node takes with all that is in it, in bytes.
func (n *Node) Memory() int {
	nodes, text := n.Size()
	return nodes*NodeMemory + text
}

// Size is the number of nodes, and the bytes of their texts and keys. Aliases count as often as
// they are used.
func (n *Node) Size() (nodes, text int) {
	if n == nil {
		return 0, 0
	}
	nodes, text = 1, len(n.Text)
	for _, f := range n.Fields {
		below, t := f.Value.Size()
		nodes, text = nodes+below, text+len(f.Key)+t
	}
	for _, item := range n.Items {
		below, t := item.Size()
		nodes, text = nodes+below, text+t
	}
	return nodes, text
}

// WrittenSize estimates how many bytes the node takes as block YAML in a JSON string, from above.
// Each line is indented by its depth: a short file may be deep, and long when it is written.
func (n *Node) WrittenSize() int { return n.writtenAt(0) }

func (n *Node) writtenAt(depth int) int {
	if n == nil {
		return 0
	}
	const line = 4 // a dash or a colon, a space, and the line's end as JSON has it
	indented := 2*depth + line
	size := indented + len(n.Text)
	for i := range len(n.Text) {
		switch c := n.Text[i]; {
		case c == '\n':
			size += indented
		case c < ' ' || c == '"' || c == '\\' || c == 0x7f:
			size += line
		}
	}
	for _, f := range n.Fields {
		size += len(f.Key) + f.Value.writtenAt(depth+1)
	}
	for _, item := range n.Items {
		size += item.writtenAt(depth + 1)
	}
	return size
}

// WithoutNulls removes the keys of maps that are null. In a merged value such a key has removed the
// values of lower layers (H2) and has no value of its own: a decoder must not read it as empty.
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

// MapFields are the fields of a Map; none of any other node.
func (n *Node) MapFields() []Field {
	if !n.IsMap() {
		return nil
	}
	return n.Fields
}

// IsNull reports whether the node is absent or null.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Null }
