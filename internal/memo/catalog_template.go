package memo

import (
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Render executes the templates in a catalog's strings (rule H5). Results stay strings, at the
// places of the templates. Equal results are one node, so that the clusters that share them share
// what is merged from them. What it takes is charged to the account.
func (m *Memo) Render(n *yamldoc.Node, facts func() any, documents *hierarchy.Cache, account *budget.Account) (*yamldoc.Node, error) {
	if !m.IsDynamic(n) {
		return n, nil
	}
	var results texts
	if err := m.renderStrings(n, facts(), documents, &results, account); err != nil {
		return nil, err
	}
	return Remember(&m.mu, m.rendered, renderKey{n, keyOf(results.list)}, func() (*yamldoc.Node, error) {
		m.spend(n.Memory() + textCost(results.list))
		return replaceStrings(n, &results.list), nil
	})
}

// parsedTemplate is a template, or why it is none.
type parsedTemplate struct {
	t   *tmpl.Template
	err error
}

// texts are what templates have written.
type texts struct{ list []string }

// textCost is what texts take.
func textCost(texts []string) int {
	cost := 0
	for _, text := range texts {
		cost += 2 * len(text) // in the key, too
	}
	return cost
}

// keyOf is a text that differs for lists of texts that differ, whatever the texts hold.
func keyOf(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(strconv.Itoa(len(text)))
		b.WriteByte(':')
		b.WriteString(text)
	}
	return b.String()
}

// renderStrings executes a node's templates, in the order in which replaceStrings puts the results
// back.
func (m *Memo) renderStrings(n *yamldoc.Node, facts any, documents *hierarchy.Cache, results *texts, account *budget.Account) error {
	switch n.Kind {
	case yamldoc.String:
		if !strings.Contains(n.Text(), "{{") {
			return nil
		}
		p, _ := Remember(&m.mu, m.parsed, n, func() (parsedTemplate, error) {
			m.spend(costNode + costParse*len(n.Text()))
			t, err := tmpl.Parse(n.Pos(), n.Text())
			return parsedTemplate{t, err}, nil
		})
		if p.err != nil {
			return p.err
		}
		out, err := documents.Execute(p.t, facts)
		if over := account.Charge(n.Pos(), budget.Cost{budget.Steps: out.Steps, budget.Written: len(out.Text)}); over != nil {
			return over
		}
		if err != nil {
			return err
		}
		results.list = append(results.list, out.Text)
	case yamldoc.Map:
		for _, f := range n.Fields() {
			if err := m.renderStrings(f.Value, facts, documents, results, account); err != nil {
				return err
			}
		}
	case yamldoc.List:
		for _, item := range n.Items() {
			if err := m.renderStrings(item, facts, documents, results, account); err != nil {
				return err
			}
		}
	}
	return nil
}

func replaceStrings(n *yamldoc.Node, results *[]string) *yamldoc.Node {
	if !isDynamic(n) {
		return n
	}
	switch n.Kind {
	case yamldoc.String:
		text := (*results)[0]
		*results = (*results)[1:]
		return yamldoc.ScalarAt(n, yamldoc.String, text)
	case yamldoc.Map:
		fields := make([]yamldoc.Field, len(n.Fields()))
		for i, f := range n.Fields() {
			f.Value = replaceStrings(f.Value, results)
			fields[i] = f
		}
		return yamldoc.MapAt(n, fields)
	case yamldoc.List:
		items := make([]*yamldoc.Node, len(n.Items()))
		for i, item := range n.Items() {
			items[i] = replaceStrings(item, results)
		}
		return yamldoc.ListAt(n, items)
	}
	return n
}
