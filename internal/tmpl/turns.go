package tmpl

import (
	"text/template"
	"text/template/parse"
)

// countTurns puts an empty text at the beginning of each loop's body and of each template: text/template writes it as it
// writes any text (exec.go, walk, case *parse.TextNode), so that the writer sees each turn and can end the execution,
// which nothing else can.
func countTurns(t *template.Template) {
	for _, each := range t.Templates() {
		if each.Tree != nil {
			mark(each.Root)
			prepend(each.Root)
		}
	}
}

func mark(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.IfNode:
			mark(n.List)
			mark(n.ElseList)
		case *parse.WithNode:
			mark(n.List)
			mark(n.ElseList)
		case *parse.RangeNode:
			mark(n.List)
			mark(n.ElseList)
			prepend(n.List)
		}
	}
}

func prepend(list *parse.ListNode) {
	if list != nil {
		list.Nodes = append([]parse.Node{&parse.TextNode{NodeType: parse.NodeText, Pos: list.Pos}}, list.Nodes...)
	}
}
