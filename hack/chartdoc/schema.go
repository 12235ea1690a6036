package chartdoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SchemaFile is what Schema is written to.
const SchemaFile = "values.schema.json"

// Schema is the values.schema.json of the chart in dir, with the descriptions that values.yaml has
// (rule 6).
func Schema(dir string) ([]byte, error) {
	values, err := os.ReadFile(filepath.Join(dir, valuesFile))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, SchemaFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	tree, err := decode(decoder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, k := range scan(string(values)) {
		if k.comment == "" {
			continue
		}
		if err := setDescription(tree, k); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	var out bytes.Buffer
	encode(&out, tree, "\n")
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// setDescription describes the property of a key. A map without properties of its own in the schema
// holds keys that the user names, or values of another chart; nothing in it is described.
func setDescription(schema any, k key) error {
	for i, name := range k.path {
		o, _ := schema.(*object)
		properties, _ := o.get("properties").(*object)
		if properties == nil {
			return nil
		}
		if schema = properties.get(name); schema == nil {
			return fmt.Errorf("no property %q; expected one, as values.yaml:%d has the key", strings.Join(k.path[:i+1], "."), k.line)
		}
	}
	if o, is := schema.(*object); is {
		o.set("description", k.comment)
	}
	return nil
}

// object is a JSON object whose members keep the order of the file.
type object struct{ members []member }

type member struct {
	name  string
	value any
}

func (o *object) get(name string) any {
	if o == nil {
		return nil
	}
	if i := o.index(name); i >= 0 {
		return o.members[i].value
	}
	return nil
}

func (o *object) set(name string, value any) {
	if i := o.index(name); i >= 0 {
		o.members[i].value = value
		return
	}
	o.members = slices.Insert(o.members, 0, member{name, value})
}

func (o *object) index(name string) int {
	return slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
}

// decode reads the next value: an *object, a []any or a scalar.
func decode(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := decode(d)
			if err != nil {
				return nil, err
			}
			o.members = append(o.members, member{fmt.Sprint(name), value})
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := decode(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	default:
		return token, nil
	}
}

// encode writes a value with an indentation of two spaces; newline is a line break with that of the
// value.
func encode(out *bytes.Buffer, value any, newline string) {
	separate := func(i int) {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(newline + "  ")
	}
	switch v := value.(type) {
	case *object:
		out.WriteByte('{')
		for i, m := range v.members {
			separate(i)
			encode(out, m.name, "")
			out.WriteString(": ")
			encode(out, m.value, newline+"  ")
		}
		if len(v.members) > 0 {
			out.WriteString(newline)
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, e := range v {
			separate(i)
			encode(out, e, newline+"  ")
		}
		if len(v) > 0 {
			out.WriteString(newline)
		}
		out.WriteByte(']')
	default:
		text, _ := compact(v) // a scalar that was decoded
		out.WriteString(text)
	}
}
