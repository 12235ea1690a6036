package fleetstate

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/memo"
)

// renderer executes the templates of one component's catalog entry for a cluster.
type renderer struct {
	c         *Cluster
	g         *Group
	component string
	memo      *memo.Memo
	documents *hierarchy.Cache
	account   *budget.Account
	ofQuery   *budget.Account // of the query's own entry: what it takes is not the tenant's
	// ofFiles and ofEntry are the facts that catalogs see, and a query's own entry.
	ofFiles, ofEntry func() any
}

// factsOf are what the templates of a node see: a query's own entry may see other labels.
func (r *renderer) factsOf(n *yamldoc.Node) func() any {
	if r.ofFiles == nil {
		r.ofFiles = r.c.templateFacts.Lazy(r.g.Name, r.component, r.g.Root)
		r.ofEntry = r.ofFiles
		if r.c.entryFacts != nil {
			r.ofEntry = r.c.entryFacts.Lazy(r.g.Name, r.component, r.g.Root)
		}
	}
	if isOfQuery(n) {
		return r.ofEntry
	}
	return r.ofFiles
}

// isOfQuery reports whether a node is of a query's own entry.
func isOfQuery(n *yamldoc.Node) bool { return n.Doc != nil && n.Doc.File == basePath }

// render executes the templates of a node.
func (r *renderer) render(n *yamldoc.Node) (*yamldoc.Node, error) {
	if !r.memo.IsDynamic(n) {
		return n, nil
	}
	account := r.account
	if isOfQuery(n) {
		if r.ofQuery == nil {
			r.ofQuery = budget.NewAccount(r.c.Member.Name)
		}
		account = r.ofQuery
	}
	root, err := r.memo.Render(n, r.factsOf(n), r.documents, account)
	if err == nil && root != n {
		err = account.Charge(n.Pos(), budget.Cost{budget.Text: root.WrittenSize()})
	}
	return root, err
}

// ownTexts executes the templates of an entry's own keys.
func (r *renderer) ownTexts(e *catalog.Entry, out *Component) []problem.Problem {
	chart, namespace, releaseName := out.Chart, out.Namespace, out.ReleaseName
	for _, text := range e.Templates(&chart, &namespace, &releaseName) {
		n := out.EntryTree.At(text.Path)
		rendered, err := r.memo.Render(n, r.factsOf(n), r.documents, r.account)
		if err != nil {
			return r.c.Attribute(problem.From(err, problem.TemplateFailed, n.Pos()))
		}
		*text.To = rendered.Text()
	}
	out.Chart, out.Namespace, out.ReleaseName = chart, namespace, releaseName
	return nil
}

// catalogValues are the values of catalogs with their templates executed.
func (r *renderer) catalogValues(values []hierarchy.Layer) ([]hierarchy.Layer, []problem.Problem) {
	out := values
	for i, l := range values {
		root, err := r.render(l.Root)
		switch {
		case err != nil:
			return nil, r.c.Attribute(problem.From(err, problem.TemplateFailed, l.Root.Pos()))
		case root == l.Root:
			continue
		case &out[0] == &values[0]:
			out = append([]hierarchy.Layer(nil), values...)
		}
		out[i].Root = root
	}
	return out, nil
}
