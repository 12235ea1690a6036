package tmpl

import (
	"io"
	"maps"
	"slices"
	"sync"
	"text/template"
	"text/template/parse"
)

// program executes a parsed template in several goroutines.
type program struct{ instances sync.Pool }

// instance is a template whose functions charge its own account. One execution uses it at a time.
type instance struct {
	t       *template.Template
	account *account
}

// newProgram binds only the functions that the templates call: each instance has its own.
func newProgram(trees map[string]*parse.Tree) *program {
	called := map[string]bool{}
	for _, tree := range trees {
		inspect(tree.Root, func(n parse.Node) {
			switch n := n.(type) {
			case *parse.IdentifierNode:
				called[n.Ident] = true
			case *parse.ActionNode:
				emitResult(n)
			case *parse.RangeNode:
				pass(n.Pipe, ranged)
			}
		})
	}
	p := &program{}
	p.instances.New = func() any {
		i := &instance{account: &account{}}
		own := template.FuncMap{emit: i.account.emit, ranged: i.account.sorts}
		for name := range called {
			if f := i.account.function(name); f != nil { // others are text/template's own
				own[name] = f
			}
		}
		i.t = assemble(trees, own)
		return i
	}
	return p
}

// emitResult wraps an action's result in a call of emit. A declaration writes nothing.
func emitResult(n *parse.ActionNode) {
	if len(n.Pipe.Decl) == 0 {
		pass(n.Pipe, emit)
	}
}

// pass appends a call of a function to a pipeline.
func pass(p *parse.PipeNode, function string) {
	f := parse.NewIdentifier(function).SetPos(p.Pos)
	p.Cmds = append(p.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: p.Pos, Args: []parse.Node{f}})
}

// assemble makes a template that has only the given functions besides text/template's own.
func assemble(trees map[string]*parse.Tree, f template.FuncMap) *template.Template {
	t := template.New(name).Option("missingkey=error").Funcs(f)
	for _, each := range slices.Sorted(maps.Keys(trees)) {
		if _, err := t.AddParseTree(each, trees[each]); err != nil {
			panic(err) //nolint:forbidigo // it fails for a template that has been executed, which this one has not
		}
	}
	return t
}

// execute runs the template with a fresh account, and returns how many bytes its functions read and
// produced.
func (p *program) execute(w io.Writer, data any) (work int, _ error) {
	i := p.instances.Get().(*instance) //nolint:errcheck // the pool holds nothing else
	defer p.instances.Put(i)
	*i.account = account{}
	err := i.t.Execute(w, data)
	i.account.compiled = nil
	return i.account.work, err
}
