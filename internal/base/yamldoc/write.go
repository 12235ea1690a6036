package yamldoc

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
)

// Any returns the value as encoding/json with UseNumber does: maps, slices, strings, booleans,
// json.Number, nil. The result is fresh and may be changed.
func (n *Node) Any() any { return n.any(false) }

// AnyAsWritten does what Any does, for names and versions: a number that JSON writes differently
// has the file's text.
func (n *Node) AnyAsWritten() any { return n.any(true) }

func (n *Node) any(asWritten bool) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Map:
		m := make(map[string]any, len(n.Fields()))
		for _, f := range n.Fields() {
			m[f.Key] = f.Value.any(asWritten)
		}
		return m
	case List:
		l := make([]any, len(n.Items()))
		for i, item := range n.Items() {
			l[i] = item.any(asWritten)
		}
		return l
	case String:
		return n.Text()
	case Number:
		if asWritten && n.literal > 0 {
			return n.Text()
		}
		return json.Number(n.Literal())
	case Bool:
		return n.Literal() == "true"
	}
	return nil
}

// YAML returns the value as YAML text that Helm reads back as the same value. Keys are sorted, and
// strings quoted where YAML 1.1 would read another type. An empty map or null is "{}\n".
func (n *Node) YAML() ([]byte, error) {
	if n.IsNull() || n.Kind == Map && len(n.Fields()) == 0 {
		return []byte("{}\n"), nil
	}
	if n.Kind == Map {
		if out, ok := appendMap(make([]byte, 0, 512), n, 0); ok {
			return out, nil
		}
	}
	return n.libraryYAML()
}

// libraryYAML writes YAML with the library, which writes two values wrongly. It does not quote the
// key "<<", which then reads as a merge key, and it writes the number -0.0 as the integer -0. Both
// are marked, and the marks are replaced in the text.
func (n *Node) libraryYAML() ([]byte, error) {
	m := marker(n.unused("argosy"))
	out, err := yamlv2.Marshal(m.plain(n))
	if written := `\0` + string(m); err == nil && bytes.Contains(out, []byte(written)) {
		out = bytes.ReplaceAll(out, []byte(`"`+mergeKey+written+`":`), []byte(`"<<":`))
		out = bytes.ReplaceAll(out, []byte(`"`+written+`"`), []byte("-0.0"))
	}
	return out, err
}

const mergeKey = "<<"

// unused returns a text with a beginning that no key and no text of the value contains.
func (n *Node) unused(beginning string) string {
	longest := 0
	n.texts(func(text string) {
		for {
			_, after, found := strings.Cut(text, beginning)
			if !found {
				return
			}
			text = strings.TrimLeft(after, "0")
			longest = max(longest, len(after)-len(text))
		}
	})
	return beginning + strings.Repeat("0", longest+1)
}

// texts calls do for all keys and texts of the value.
func (n *Node) texts(do func(string)) {
	switch n.Kind {
	case Map:
		for _, f := range n.Fields() {
			do(f.Key)
			f.Value.texts(do)
		}
	case List:
		for _, item := range n.Items() {
			item.texts(do)
		}
	case String:
		do(n.Text())
	}
}

// marker marks values by a text that occurs nowhere else, after a NUL character, which the library
// writes as "\0".
type marker string

// plain returns what Any does, with numbers in Go's own types for the YAML writer.
func (m marker) plain(n *Node) any {
	switch n.Kind {
	case Map:
		out := make(yamlv2.MapSlice, len(n.Fields()))
		for i, f := range n.Fields() {
			key := f.Key
			if key == mergeKey {
				key += "\x00" + string(m)
			}
			out[i] = yamlv2.MapItem{Key: key, Value: m.plain(f.Value)}
		}
		return out
	case List:
		l := make([]any, len(n.Items()))
		for i, item := range n.Items() {
			l[i] = m.plain(item)
		}
		return l
	case Number:
		return m.number(n.Literal())
	}
	return n.Any()
}

// number returns a JSON number in the smallest of Go's types that holds it exactly, or the mark for
// -0.0.
func (m marker) number(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		return i
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u
	}
	f, _ := strconv.ParseFloat(text, 64)
	if f == 0 && math.Signbit(f) {
		return "\x00" + string(m)
	}
	return f
}

// FromAny makes a node of a value that encoding/json returns with UseNumber (other numbers and
// types become strings as they print). The nodes have no place; doc, which may be nil, becomes
// their document.
func FromAny(doc *Doc, v any) *Node {
	switch v := v.(type) {
	case nil:
		return &Node{Kind: Null, Doc: doc}
	case bool:
		return newScalar(doc, Bool, strconv.FormatBool(v))
	case string:
		return newScalar(doc, String, v)
	case json.Number:
		return newScalar(doc, Number, v.String())
	case map[string]any:
		fields := make([]Field, 0, len(v))
		for k, item := range v {
			fields = append(fields, Field{Key: k, Value: FromAny(doc, item)})
		}
		return NewMap(doc, fields...)
	case map[string]string:
		fields := make([]Field, 0, len(v))
		for k, item := range v {
			fields = append(fields, Field{Key: k, Value: newScalar(doc, String, item)})
		}
		return NewMap(doc, fields...)
	case []any:
		items := make([]*Node, len(v))
		for i, item := range v {
			items[i] = FromAny(doc, item)
		}
		return ListAt(&Node{Doc: doc}, items)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return &Node{Kind: Null, Doc: doc}
	}
	return newScalar(doc, Number, string(text))
}

func newScalar(doc *Doc, kind Kind, text string) *Node { return ScalarAt(&Node{Doc: doc}, kind, text) }

// NewMap makes a map of fields with distinct keys, in any order.
func NewMap(doc *Doc, fields ...Field) *Node {
	return MapAt(&Node{Doc: doc}, fields)
}
