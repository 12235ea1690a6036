package tmpl

import (
	"slices"
	"text/template/parse"
)

// Reads reports whether the template's result may depend on the fact at a path, such as "labels",
// "region". Only the template's text decides: a branch counts whether it is executed or not.
func (t *Template) Reads(path ...string) bool {
	return slices.ContainsFunc(t.reads, func(read []string) bool {
		n := min(len(read), len(path))
		return slices.Equal(read[:n], path[:n])
	})
}

// ReadFacts returns the paths of the facts that the template reads. A path includes all that is
// below it; an empty one means all facts. The slice must not be changed.
func (t *Template) ReadFacts() [][]string { return t.reads }

// ReadsOnly reports whether the template's result depends only on the named facts.
func (t *Template) ReadsOnly(facts ...string) bool {
	return !slices.ContainsFunc(t.reads, func(read []string) bool { return len(read) == 0 || !slices.Contains(facts, read[0]) })
}

// readsOf returns the paths of the facts that a template reads, as ReadFacts does.
func readsOf(trees map[string]*parse.Tree) [][]string {
	r := &factReads{}
	if main := trees[name]; main != nil {
		r.node(main.Root, true)
	}
	return r.paths
}

// factReads collects paths. Values derived from a fact (a variable, the dot of a with, range or
// template) need not be followed: the fact that they come from has been read as a whole.
type factReads struct{ paths [][]string }

// node collects the facts that a node reads. top says whether the dot is the facts themselves.
func (r *factReads) node(n parse.Node, top bool) {
	if path, ok := factPath(n, top); ok {
		r.paths = append(r.paths, path)
		return
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for i := 0; n != nil && i < len(n.Nodes); i++ {
			r.node(n.Nodes[i], top)
		}
	case *parse.ActionNode:
		r.node(n.Pipe, top)
	case *parse.TemplateNode:
		r.node(n.Pipe, top)
	case *parse.PipeNode:
		for i := 0; n != nil && i < len(n.Cmds); i++ {
			r.command(n.Cmds[i], top)
		}
	case *parse.ChainNode:
		r.node(n.Node, top)
	case *parse.IfNode:
		r.branch(&n.BranchNode, top, top)
	case *parse.WithNode:
		r.branch(&n.BranchNode, top, false)
	case *parse.RangeNode:
		r.branch(&n.BranchNode, top, false)
	}
}

// branch collects the facts that a condition or loop reads. Its list may have another dot.
func (r *factReads) branch(b *parse.BranchNode, top, listTop bool) {
	r.node(b.Pipe, top)
	r.node(b.List, listTop)
	r.node(b.ElseList, top)
}

// command collects the facts that a call reads. A lookup of constant keys reads only the fact that
// it looks up.
func (r *factReads) command(c *parse.CommandNode, top bool) {
	args := c.Args
	if path, rest, ok := lookedUp(args, top); ok {
		r.paths = append(r.paths, path)
		args = rest
	}
	for _, arg := range args {
		r.node(arg, top)
	}
}

// lookedUp returns the path that a lookup reads, and its other arguments. Lookups are `index .map
// "key"...`, `get .map "key"` and `dig "key" ... default .map`.
func lookedUp(args []parse.Node, top bool) (path []string, rest []parse.Node, ok bool) {
	f, is := args[0].(*parse.IdentifierNode)
	if !is || len(args) < 3 {
		return nil, nil, false
	}
	var from parse.Node
	var keys []parse.Node
	switch f.Ident {
	case "index", "get", "hasKey":
		from, keys = args[1], args[2:]
	case "dig":
		from, keys, rest = args[len(args)-1], args[1:len(args)-2], args[len(args)-2:len(args)-1]
	default:
		return nil, nil, false
	}
	if path, ok = factPath(from, top); !ok {
		return nil, nil, false
	}
	path = slices.Clone(path)
	for _, arg := range keys {
		key, is := arg.(*parse.StringNode)
		if !is {
			return nil, nil, false
		}
		path = append(path, key.Text)
	}
	return path, rest, true
}

// factPath returns the path of a fact that a node names: .labels.region, $.labels.region, the dot
// or $.
func factPath(n parse.Node, top bool) (path []string, ok bool) {
	switch n := n.(type) {
	case *parse.DotNode:
		return nil, top
	case *parse.FieldNode:
		return n.Ident, top
	case *parse.VariableNode:
		return n.Ident[1:], n.Ident[0] == "$"
	}
	return nil, false
}
