package tmpl

import (
	"strings"
	"text/template"
	"text/template/parse"
)

// textLines finds the line at which each piece of literal text of a template starts. A piece is known by its bytes'
// address: text/template writes it as it is (exec.go, walk, case *parse.TextNode), which tells it from what actions
// print.
func textLines(t *template.Template, source string) map[*byte]int {
	lines := map[*byte]int{}
	for _, each := range t.Templates() {
		if each.Tree != nil {
			collect(each.Root, source, lines)
		}
	}
	return lines
}

func collect(n parse.Node, source string, lines map[*byte]int) {
	branch := func(b *parse.BranchNode) {
		collect(b.List, source, lines)
		if b.ElseList != nil {
			collect(b.ElseList, source, lines)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			collect(child, source, lines)
		}
	case *parse.TextNode:
		if len(n.Text) > 0 {
			lines[&n.Text[0]] = 1 + strings.Count(source[:n.Pos], "\n")
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	}
}

// lineWriter notes for each line of the output which line of the template it comes from: that of its first literal
// text, or, where an action printed it, that of the text before.
type lineWriter struct {
	limited
	text  map[*byte]int
	lines []int
	at    int  // the template's line
	fresh bool // nothing is on the output's last line yet
}

func newLineWriter(text map[*byte]int) *lineWriter {
	return &lineWriter{text: text, lines: []int{1}, at: 1, fresh: true}
}

func (w *lineWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return w.limited.Write(p)
	}
	start, literal := w.text[&p[0]]
	if literal {
		w.at = start
	}
	for _, c := range p {
		if w.fresh {
			w.lines[len(w.lines)-1], w.fresh = w.at, false
		}
		if c == '\n' {
			if literal {
				w.at++
			}
			w.lines, w.fresh = append(w.lines, w.at), true
		}
	}
	return w.limited.Write(p)
}
