package yamldoc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Reader decodes a document and collects all of its problems.
type Reader struct {
	doc      *Doc
	problems problem.List
	unlisted int // problems beyond those that are kept
	worst    problem.Severity
}

// NewReader reads from a document.
func NewReader(doc *Doc) *Reader { return &Reader{doc: doc} }

// Err returns all errors as a problem.List in order of position, nil without any. Warnings are not
// errors.
func (r *Reader) Err() error {
	errs := problem.Errors(r.Problems())
	if len(errs) == 0 {
		return nil
	}
	return problem.List(errs)
}

// Warn reports a warning at a node.
func (r *Reader) Warn(reason problem.Reason, at *Node, subject, found, expected string, hints ...string) {
	r.WarnAt(reason, r.pos(at), subject, found, expected, hints...)
}

// WarnAt reports a warning at a place.
func (r *Reader) WarnAt(reason problem.Reason, pos problem.Pos, subject, found, expected string, hints ...string) {
	r.keep(problem.Problem{
		Reason: reason, Severity: problem.Warning, Pos: pos, Subject: subject, Found: found, Expected: expected, Hints: hints,
	})
}

// Problems returns the problems so far, warnings included, in order of position.
func (r *Reader) Problems() []problem.Problem {
	out := problem.Sorted(r.problems)
	if r.unlisted > 0 {
		out = append(out, problem.More(out[0], r.unlisted, r.worst))
	}
	return out
}

// keep records a problem, or counts it beyond the limit of a file.
func (r *Reader) keep(p problem.Problem) {
	if len(r.problems) == problem.OfFile {
		if r.unlisted++; r.worst != problem.Error {
			r.worst = p.Severity
		}
		return
	}
	r.problems = append(r.problems, p)
}

// Add reports an error at a node.
func (r *Reader) Add(reason problem.Reason, at *Node, subject, found, expected string, hints ...string) {
	r.AddAt(reason, r.pos(at), subject, found, expected, hints...)
}

// pos returns the node's place. Nodes of a merged map come from several documents.
func (r *Reader) pos(n *Node) problem.Pos {
	if n != nil && n.Doc != nil {
		return n.Pos()
	}
	return r.doc.Pos(n)
}

// AddAt reports an error at a place.
func (r *Reader) AddAt(reason problem.Reason, pos problem.Pos, subject, found, expected string, hints ...string) {
	r.keep(problem.Problem{
		Reason: reason, Severity: problem.Error, Pos: pos, Subject: subject, Found: found, Expected: expected, Hints: hints,
	})
}

// MapReader reads the keys of one map.
type MapReader struct {
	r    *Reader
	node *Node
	what string
}

// Map reads a node that must be a map; null and nil count as empty. what names it in errors.
func (r *Reader) Map(n *Node, what string) *MapReader {
	switch {
	case n.IsNull():
		n = &Node{Kind: Map, Doc: r.doc}
	case n.Kind != Map:
		r.Add(problem.InvalidValue, n, what, "is a "+n.Kind.String(), "a map")
		n = &Node{Kind: Map, Line: n.Line, Column: n.Column, Doc: r.doc}
	}
	return &MapReader{r: r, node: n, what: what}
}

// Node returns the map itself.
func (m *MapReader) Node() *Node { return m.node }

// KeyPos returns the place of the key, or the map's if there is none.
func (m *MapReader) KeyPos(key string) problem.Pos {
	if len(m.node.Fields()) == 0 {
		return m.r.pos(m.node)
	}
	return m.node.KeyPos(key)
}

// Known reports every key that is not one of keys, with a suggestion.
func (m *MapReader) Known(keys ...string) {
	for _, f := range m.node.Fields() {
		if slices.Contains(keys, f.Key) {
			continue
		}
		hints := problem.Nearest(f.Key, keys)
		expected := ""
		if len(hints) == 0 {
			expected = "one of " + strings.Join(keys, ", ")
		}
		m.r.AddAt(problem.UnknownKey, m.KeyPos(f.Key), fmt.Sprintf("key %q", f.Key), "not known in "+m.what, expected, hints...)
	}
}

// String returns the text of a key; numbers and booleans as they are written, "" for absent and
// null.
func (m *MapReader) String(key string) string {
	n := m.node.Get(key)
	if n.IsNull() {
		return ""
	}
	if n.Kind == Map || n.Kind == List {
		m.r.Add(problem.InvalidValue, n, fmt.Sprintf("key %q", key), "is a "+n.Kind.String(), "text")
		return ""
	}
	return n.Text()
}

// Truth returns the node's boolean, written as such or as text: people write both.
func (n *Node) Truth() (value, ok bool) {
	if n == nil || n.Kind != Bool && n.Kind != String {
		return false, false
	}
	switch strings.ToLower(n.Literal()) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// describe returns the node's value in a few words.
func (n *Node) describe() string {
	switch n.Kind {
	case Map, List, Null:
		return "is a " + n.Kind.String()
	case String:
		return fmt.Sprintf("%q", shorten(n.Text()))
	}
	return shorten(n.Text())
}

func shorten(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

// StringMap returns the map of texts under a key, with keys and texts as they are written.
func (m *MapReader) StringMap(key string) map[string]string {
	sub := m.Map(key)
	out := make(map[string]string, len(sub.node.Fields()))
	for _, f := range sub.node.Fields() {
		out[f.Name()] = sub.String(f.Key)
	}
	return out
}

// Map returns the map under a key; absent counts as empty.
func (m *MapReader) Map(key string) *MapReader {
	return m.r.Map(m.node.Get(key), fmt.Sprintf("key %q", key))
}

// List returns the elements under a key; none if it is absent.
func (m *MapReader) List(key string) []*Node {
	n := m.node.Get(key)
	if n.IsNull() {
		return nil
	}
	if n.Kind != List {
		m.r.Add(problem.InvalidValue, n, fmt.Sprintf("key %q", key), "is a "+n.Kind.String(), "a list")
		return nil
	}
	return n.Items()
}
