package tmpl

import (
	"maps"
	"slices"
	"sync"
	"text/template"
	"text/template/parse"
)

// program is a parsed template that can be executed by several goroutines.
type program struct {
	trees map[string]*parse.Tree
	// plain executes a template that needs no account: it only picks and writes facts.
	plain *template.Template
	// charged are the functions that need one; instances have their own.
	charged   []string
	instances sync.Pool
}

// instance is a template whose functions charge an account of its own; one execution uses it at a
// time.
type instance struct {
	t       *template.Template
	account *account
}

// newProgram finds out what a template needs: only the functions that it calls are kept.
func newProgram(trees map[string]*parse.Tree) *program {
	called := map[string]bool{}
	var actions []*parse.ActionNode
	for _, tree := range trees {
		inspect(tree.Root, func(n parse.Node) {
			switch n := n.(type) {
			case *parse.IdentifierNode:
				called[n.Ident] = true
			case *parse.ActionNode:
				actions = append(actions, n)
			}
		})
	}
	p := &program{trees: trees}
	plain := template.FuncMap{}
	makes := false
	for _, name := range slices.Sorted(maps.Keys(called)) {
		makes = makes || slices.Contains(makers, name)
		switch f := funcs[name]; {
		case f == nil: // text/template's own, and free
		case slices.Contains(free, name):
			plain[name] = f
		default:
			p.charged = append(p.charged, name)
		}
	}
	for _, n := range actions {
		if len(n.Pipe.Decl) == 0 {
			name := parse.NewIdentifier(emit).SetPos(n.Pipe.Pos)
			n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pipe.Pos, Args: []parse.Node{name}})
		}
	}
	if len(p.charged) == 0 && !makes {
		plain[emit] = present
		p.plain = assemble(trees, plain)
		return p
	}
	p.instances.New = func() any {
		i := &instance{account: &account{}}
		own := maps.Clone(plain)
		for _, name := range p.charged {
			own[name] = i.account.bind(name, funcs[name])
		}
		own[emit] = i.account.emitter()
		i.t = assemble(trees, own)
		return i
	}
	return p
}

// assemble puts a template together that has only the given functions besides text/template's own.
func assemble(trees map[string]*parse.Tree, f template.FuncMap) *template.Template {
	t := template.New(name).Option("missingkey=error").Funcs(f)
	for _, each := range slices.Sorted(maps.Keys(trees)) {
		if _, err := t.AddParseTree(each, trees[each]); err != nil {
			panic(err) //nolint:forbidigo // it fails for a template that has been executed, which this one has not
		}
	}
	return t
}

// acquire is a template to execute, with the account that its functions charge; done gives it back.
func (p *program) acquire() (t *template.Template, done func()) {
	if p.plain != nil {
		return p.plain, func() {}
	}
	i := p.instances.Get().(*instance) //nolint:errcheck // the pool holds nothing else
	i.account.work = 0
	return i.t, func() { p.instances.Put(i) }
}
