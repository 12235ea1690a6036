// Package yamldoc reads YAML so that every value keeps its place in the file, and writes merged
// values back.
//
//  1. A scalar means exactly what Helm reads: sigs.k8s.io/yaml decides every plain scalar that is
//     not obviously a string or a small integer. `yes` is true, `0123` is 83, and integers stay
//     exact as far as Helm's do, up to 64 bits (H9). The one exception is the tag `!` alone, which
//     the parser does not report: `! 12` is a number here. Where a text is expected, a scalar is
//     what the file writes (Node.Text): an account 0123 keeps its zero.
//  2. Duplicate keys are errors, each with its line (H9). ParseLenient reads them as Helm 3 does:
//     the last one wins, and Doc.Duplicates lists them. Merge keys (`<<`) follow yaml.v2, hence
//     Helm: keys are set in the order of the file.
//  3. Doc.Ambiguous holds the plain scalars that YAML 1.2 reads otherwise than Helm, and numbers
//     such as 1234e56 that may be meant as names (H9).
//  4. The depth, the number of nodes, the bytes of text, and the problems kept of one file have
//     limits. Aliases count as often as they are used. Problems beyond the limit are counted (H10).
//  5. Only the first document of a stream counts, as with Helm 3 (helm v3.22.0,
//     pkg/cli/values/options.go; Helm 4 merges all). Doc.Extra is the place of the second one.
//  6. Docs and Nodes are immutable once parsed; values that are built from them share them.
//  7. Places count lines as editors do, not as YAML 1.1 does (places.go).
//
// No other package imports a YAML library for documents.
package yamldoc

import "github.com/argosy-hub/argosy/internal/problem"

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
	// Overridden are the first keys that a merge key behind them sets again, as notes, at most
	// problem.OfFile, and one more that counts the rest.
	Overridden []problem.Problem
	// Ambiguous are the first scalars that may not be read as they are meant, at most
	// problem.OfFile.
	Ambiguous []Ambiguity
	// Extra is the place of a second document, which is ignored; zero if there is none.
	Extra problem.Pos
}

// Ambiguity is a plain scalar that YAML 1.1 and 1.2 read differently, or a number such as 1234e56
// that may be meant as a name.
type Ambiguity struct {
	Pos    problem.Pos
	Text   string // as written
	Means  string // as Helm reads it
	Key    bool   // it stands as a key
	Differ bool   // YAML 1.1 and 1.2 read it differently
}

// Pos is the place of a node of this document.
func (d *Doc) Pos(n *Node) problem.Pos {
	if n == nil {
		return problem.Pos{File: d.File}
	}
	return problem.Pos{File: d.File, Line: int(n.Line), Column: int(n.Column)}
}
