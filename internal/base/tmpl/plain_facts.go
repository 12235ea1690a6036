package tmpl

import (
	"strings"
	"text/template/parse"
)

// maxPlain bounds a result that plain assembles, in bytes: far below every limit of an execution.
const maxPlain = 4096

// plainPart is a literal text, or the name of a fact.
type plainPart struct{ text, fact string }

// plainParts returns the parts of a template of only literal texts and facts; nil for any other. An
// example is {{ .root }}/defaults: most paths of folders are such templates.
func plainParts(trees map[string]*parse.Tree) []plainPart {
	main := trees[name]
	if len(trees) != 1 || main == nil || main.Root == nil {
		return nil
	}
	var out []plainPart
	for _, n := range main.Root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			out = append(out, plainPart{text: string(n.Text)})
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
				return nil
			}
			f, is := n.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
			if !is || len(f.Ident) != 1 {
				return nil
			}
			out = append(out, plainPart{fact: f.Ident[0]})
		default:
			return nil
		}
	}
	return out
}

// plain returns what Execute writes, assembled from the parts. It returns false where text/template
// has to run: a fact is unknown or not a text, or the result is long.
func (t *Template) plain(data any) (string, bool) {
	facts, is := data.(map[string]any)
	if !is || t.parts == nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.fact != "" {
			if text, is = facts[p.fact].(string); !is {
				return "", false
			}
		}
		if b.Len()+len(text) > maxPlain {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}
