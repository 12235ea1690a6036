package tmpl

import (
	"text/template/parse"
)

// Weights of executed parts: the cost of a function's or template's call compared with a node. Each
// name of a path such as .labels.region is a node of its own.
const (
	nodeWeight     = 1
	functionWeight = 10
	templateWeight = 100 // a template that calls itself is ended before the stack is deep
)

// steps puts an empty text at the beginning of each loop's body and of each template. text/template
// writes it as any text (exec.go, walk, case *parse.TextNode), so the writer sees each turn. Only
// the writer can end the execution. The map holds the steps that each text counts as, by the text's
// address.
func steps(trees map[string]*parse.Tree) map[*byte]int {
	s := scale{marks: map[*byte]int{}}
	for _, tree := range trees {
		inspect(tree.Root, func(n parse.Node) {
			if pipe, ok := n.(*parse.PipeNode); ok && pipe != nil {
				s.variables += len(pipe.Decl)
			}
		})
	}
	for _, tree := range trees {
		if tree.Root != nil {
			s.prepend(tree.Root, templateWeight+s.weigh(tree.Root))
		}
	}
	return s.marks
}

// scale weighs the nodes of a template.
type scale struct {
	marks     map[*byte]int
	variables int // how many the template declares
}

// prepend inserts a mark at the beginning of a list.
func (s *scale) prepend(list *parse.ListNode, weight int) {
	address := make([]byte, 1)
	s.marks[&address[0]] = weight
	list.Nodes = append([]parse.Node{&parse.TextNode{NodeType: parse.NodeText, Pos: list.Pos, Text: address[:0]}}, list.Nodes...)
}

// weigh returns the number of steps that executing a node once takes, without the bodies of its
// loops: each turn counts its own.
func (s *scale) weigh(n parse.Node) int {
	weight := nodeWeight
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return 0
		}
		for _, child := range n.Nodes {
			weight += s.weigh(child)
		}
	case *parse.ActionNode:
		weight += s.weigh(n.Pipe)
	case *parse.TemplateNode:
		weight += s.weigh(n.Pipe)
	case *parse.PipeNode:
		if n == nil {
			return 0
		}
		for _, c := range n.Cmds {
			weight += s.weigh(c)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			weight += s.weigh(arg)
		}
	case *parse.FieldNode:
		weight = nodeWeight * len(n.Ident)
	case *parse.VariableNode:
		// text/template searches the variable among all others.
		weight = nodeWeight*len(n.Ident) + s.variables/workOfStep
	case *parse.ChainNode:
		weight += s.weigh(n.Node) + nodeWeight*len(n.Field)
	case *parse.IdentifierNode:
		weight = functionWeight
	case *parse.IfNode:
		weight += s.weigh(n.Pipe) + s.weigh(n.List) + s.weigh(n.ElseList)
	case *parse.WithNode:
		weight += s.weigh(n.Pipe) + s.weigh(n.List) + s.weigh(n.ElseList)
	case *parse.RangeNode:
		weight += s.weigh(n.Pipe) + s.weigh(n.ElseList)
		s.prepend(n.List, nodeWeight+s.weigh(n.List))
	}
	return weight
}

// inspect calls f for all nodes of a template.
func inspect(n parse.Node, f func(parse.Node)) {
	f(n)
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			inspect(child, f)
		}
	case *parse.ActionNode:
		inspect(n.Pipe, f)
	case *parse.TemplateNode:
		inspect(n.Pipe, f)
	case *parse.PipeNode:
		if n == nil {
			return
		}
		for _, c := range n.Cmds {
			inspect(c, f)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			inspect(arg, f)
		}
	case *parse.ChainNode:
		inspect(n.Node, f)
	case *parse.IfNode:
		inspectBranch(&n.BranchNode, f)
	case *parse.WithNode:
		inspectBranch(&n.BranchNode, f)
	case *parse.RangeNode:
		inspectBranch(&n.BranchNode, f)
	}
}

func inspectBranch(b *parse.BranchNode, f func(parse.Node)) {
	inspect(b.Pipe, f)
	inspect(b.List, f)
	inspect(b.ElseList, f)
}
