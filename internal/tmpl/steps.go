package tmpl

import (
	"text/template/parse"
)

// Weights of what is executed: what a call of a function or of a template costs against a node.
const (
	nodeWeight     = 1
	functionWeight = 10
	templateWeight = 100 // a template that calls itself is ended before the stack is deep
)

// steps puts an empty text at the beginning of each loop's body and of each template: text/template
// writes it as it writes any text (exec.go, walk, case *parse.TextNode), so that the writer sees
// each turn and can end the execution, which nothing else can. The map tells, by the text's
// address, how many steps it stands for.
func steps(trees map[string]*parse.Tree) map[*byte]int {
	marks := map[*byte]int{}
	for _, tree := range trees {
		if tree.Root != nil {
			prepend(tree.Root, templateWeight+weigh(tree.Root, marks), marks)
		}
	}
	return marks
}

// prepend inserts a mark at the beginning of a list.
func prepend(list *parse.ListNode, weight int, marks map[*byte]int) {
	address := make([]byte, 1)
	marks[&address[0]] = weight
	list.Nodes = append([]parse.Node{&parse.TextNode{NodeType: parse.NodeText, Pos: list.Pos, Text: address[:0]}}, list.Nodes...)
}

// weigh is the number of steps that executing a node once takes, the bodies of its loops left out:
// each turn of theirs counts for itself.
func weigh(n parse.Node, marks map[*byte]int) int {
	weight := nodeWeight
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return 0
		}
		for _, child := range n.Nodes {
			weight += weigh(child, marks)
		}
	case *parse.ActionNode:
		weight += weigh(n.Pipe, marks)
	case *parse.TemplateNode:
		weight += weigh(n.Pipe, marks)
	case *parse.PipeNode:
		if n == nil {
			return 0
		}
		for _, c := range n.Cmds {
			weight += weigh(c, marks)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			weight += weigh(arg, marks)
		}
	case *parse.ChainNode:
		weight += weigh(n.Node, marks)
	case *parse.IdentifierNode:
		weight = functionWeight
	case *parse.IfNode:
		weight += weigh(n.Pipe, marks) + weigh(n.List, marks) + weigh(n.ElseList, marks)
	case *parse.WithNode:
		weight += weigh(n.Pipe, marks) + weigh(n.List, marks) + weigh(n.ElseList, marks)
	case *parse.RangeNode:
		weight += weigh(n.Pipe, marks) + weigh(n.ElseList, marks)
		prepend(n.List, nodeWeight+weigh(n.List, marks), marks)
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
