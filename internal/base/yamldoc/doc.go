// Package yamldoc reads YAML so that every value keeps its place in the file, writes merged values,
// and changes single values of a file (Editor). No other package imports a YAML library for
// documents. A file of Argosy is decoded into a struct whose tags describe its keys:
//
//	type Ring struct {
//		Name     string        `json:"name" is:"name"`
//		Pos      problem.Pos   `json:"-" is:"place"`
//		Soak     time.Duration `json:"soak,omitempty" longest:"1440h"`
//		GoesBack bool          `json:"onFailure,omitempty" jsonschema:"enum=hold,enum=back"`
//		Checks   []Check       `json:"checks,omitempty" jsonschema:"maxItems=20"`
//	}
//
// The tags json and jsonschema are the tags of docs/schemas:
//
//	json:"key"                     required: not null, and not an empty text, list or map of texts
//	json:"key,omitempty"           not required; null and an empty text leave the field as it is.
//	                               omitzero means the same
//	jsonschema:"enum=a,enum=b"     one of the words; a bool is true for the last, an int the index
//	jsonschema:"minItems=1"        required; maxItems limits a list, uniqueItems forbids doubles
//	jsonschema:"oneof_type=string;array"  a text counts as a list of one
//	is:"name"                      a DNS-1123 label: the text, each text of a list or key of a map
//	is:"quoted"                    not a number or a boolean, as YAML reads 1.10 as 1.1
//	is:"path"                      a path inside the repository, which is cleaned
//	is:"place"                     not a key: a problem.Pos gets the place of the map
//	is:"open"                      not a key: a *Node gets the map, which may have further keys
//	is:"internal"                  not a key
//	pattern:"^a"                   a text that matches
//	longest:"1h"                   the limit of a duration
//	expect:"a path"                what an error says was expected
//
// A text is what the file writes, also for a number. A boolean may be a text in quotes. A time is a
// day. A field of type *Node gets the value itself. A type that implements NodeReader or
// encoding.TextUnmarshaler reads its own value. Checker and Extender add rules and keys. Problems
// name the path of the key, as in key "rings[0].soak". If a map has an unknown key, no key of it is
// reported as missing.
//
// Callers may rely on:
//
//  1. A scalar means exactly what Helm reads: sigs.k8s.io/yaml decides every plain scalar that is
//     not obviously a string or a small integer. `yes` is true, `0123` is 83, and integers stay
//     exact as far as Helm's do, up to 64 bits. The one exception is the tag `!`, which the parser
//     does not report: `! 12` is a number here. Where a text is expected, a scalar is what the file
//     writes (Node.Text): an account 0123 keeps its zero.
//  2. Duplicate keys are errors, each with its line. ParseLenient reads them as Helm 3 does: the
//     last one wins, and Doc.Duplicates lists them. Merge keys (`<<`) follow yaml.v2, hence Helm:
//     keys are set in the order of the file.
//  3. Doc.Ambiguous holds the plain scalars that YAML 1.2 reads otherwise than Helm, and numbers
//     such as 1234e56 that may be meant as names.
//  4. The depth, the number of nodes, the bytes of text and the problems of one file have limits.
//     Each use of an alias counts. Problems beyond the limit are counted.
//  5. Only the first document of a stream counts, as with Helm 3 (helm v3.22.0,
//     pkg/cli/values/options.go; Helm 4 merges all). Doc.Extra is the place of the second one.
//  6. Docs and Nodes are immutable once parsed. Values that are built from them share them.
//  7. Places count lines as editors do, not as YAML 1.1 does (places.go).
package yamldoc

import "github.com/argosy-hub/argosy/internal/base/problem"

// Limits of one document.
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

// String returns the kind's name as users know it.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "map", "list"}[k]
}

// Doc is one parsed document.
type Doc struct {
	// File is the document's path in the repository.
	File string
	// Root is the document's value; for an empty document a Null node.
	Root *Node
	// Duplicates are the first keys that a map has twice, as warnings in order; Only ParseLenient
	// leaves any. At most problem.OfFile, and one more that counts the rest.
	Duplicates []problem.Problem
	// Overridden are the first keys that a later merge key sets again, as notes: at most
	// problem.OfFile, and one more that counts the rest.
	Overridden []problem.Problem
	// Ambiguous are the first scalars that may be read otherwise than meant, at most
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
	Key    bool   // it is a key
	Differ bool   // YAML 1.1 and 1.2 read it differently
}

// Pos returns the place of a node of this document.
func (d *Doc) Pos(n *Node) problem.Pos {
	if n == nil {
		return problem.Pos{File: d.File}
	}
	return problem.Pos{File: d.File, Line: int(n.Line), Column: int(n.Column)}
}
