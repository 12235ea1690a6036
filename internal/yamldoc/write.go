package yamldoc

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"math"
	"strconv"

	yamlv2 "go.yaml.in/yaml/v2"
)

// Any is the value as encoding/json would give it with UseNumber: maps, slices, strings, booleans,
// json.Number, nil. The result is fresh and may be changed.
func (n *Node) Any() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Map:
		m := make(map[string]any, len(n.Fields()))
		for _, f := range n.Fields() {
			m[f.Key] = f.Value.Any()
		}
		return m
	case List:
		l := make([]any, len(n.Items()))
		for i, item := range n.Items() {
			l[i] = item.Any()
		}
		return l
	case String:
		return n.Text()
	case Number:
		return json.Number(n.Text())
	case Bool:
		return n.Text() == "true"
	}
	return nil
}

// YAML is the value as YAML text that Helm reads back as the same value: keys sorted, strings
// quoted where YAML 1.1 would take them for something else. An empty map or null is "{}\n".
func (n *Node) YAML() ([]byte, error) {
	if n.IsNull() || n.Kind == Map && len(n.Fields()) == 0 {
		return []byte("{}\n"), nil
	}
	if out, ok := plainYAML(n); ok {
		return out, nil
	}
	return n.libraryYAML()
}

// libraryYAML is YAML with the library.
func (n *Node) libraryYAML() ([]byte, error) {
	out, err := yamlv2.Marshal(n.plain())
	if err == nil && bytes.Contains(out, []byte(writtenMark)) {
		out = bytes.ReplaceAll(out, []byte(markedMergeKey), []byte(`"<<":`))
		out = bytes.ReplaceAll(out, []byte(markedZero), []byte("-0.0"))
	}
	return out, err
}

// The library writes two values wrongly: it does not quote a key that is the text "<<", which then
// reads as a merge key, and it writes the number -0.0 as the integer -0. libraryYAML marks both,
// and replaces the marks in the text. No file holds a mark: it is another one in each process, and
// no text ever has it when it is written.
const mergeKey = "<<"

var (
	secret         = rand.Text()
	mark           = "\x00" + secret
	writtenMark    = `\0` + secret
	markedMergeKey = `"` + mergeKey + writtenMark + `":`
	markedZero     = `"` + writtenMark + `"`
)

// plain is Any with numbers in Go's own types, as the YAML writer needs them.
func (n *Node) plain() any {
	switch n.Kind {
	case Map:
		m := make(yamlv2.MapSlice, len(n.Fields()))
		for i, f := range n.Fields() {
			key := f.Key
			if key == mergeKey {
				key += mark
			}
			m[i] = yamlv2.MapItem{Key: key, Value: f.Value.plain()}
		}
		return m
	case List:
		l := make([]any, len(n.Items()))
		for i, item := range n.Items() {
			l[i] = item.plain()
		}
		return l
	case Number:
		return number(n.Text())
	}
	return n.Any()
}

// number is a JSON number in the smallest of Go's types that holds it exactly, or the mark for
// -0.0.
func number(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		return i
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u
	}
	f, _ := strconv.ParseFloat(text, 64)
	if f == 0 && math.Signbit(f) {
		return mark
	}
	return f
}

// FromAny makes a node of a value as encoding/json gives it with UseNumber (other numbers and types
// become strings as they print). The nodes have no place; doc, which may be nil, becomes their
// document.
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
