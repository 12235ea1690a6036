package tmpl

import (
	"strings"
	"text/template/parse"
)

// part is a text, or the name of a fact whose text stands there.
type part struct{ text, field string }

// fieldsOf are the parts of a template like `{{ .root }}/tenants/{{ .tenant }}`, nil for any other one. Paths of levels are
// made by such templates for each cluster: putting them together needs no text/template.
func fieldsOf(trees map[string]*parse.Tree) []part {
	main := trees[name]
	if len(trees) != 1 || main == nil {
		return nil
	}
	var out []part
	for _, n := range main.Root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			out = append(out, part{text: string(n.Text)})
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
				return nil
			}
			f, is := n.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
			if !is || len(f.Ident) != 1 {
				return nil
			}
			out = append(out, part{field: f.Ident[0]})
		default:
			return nil
		}
	}
	return out
}

// joined is what the template gives, if it is made of parts and all its facts are texts; else text/template has to say.
func (t *Template) joined(data any) (string, bool) {
	facts, is := data.(map[string]any)
	if t.fields == nil || !is {
		return "", false
	}
	var few [16]string
	parts := few[:0]
	size := 0
	for _, p := range t.fields {
		text := p.text
		if p.field != "" {
			if text, is = facts[p.field].(string); !is {
				return "", false
			}
		}
		size += len(text)
		parts = append(parts, text)
	}
	out := strings.Join(parts, "")
	return out, size <= MaxOutput
}
