package memo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/tmpl"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Render executes the templates in a catalog's strings (rule H5). Results stay strings, at the
// places of the templates. Equal results are one node, so that the clusters that share them share
// what is merged from them.
func (m *Memo) Render(n *yamldoc.Node, facts func() any) (*yamldoc.Node, error) {
	if !m.IsDynamic(n) {
		return n, nil
	}
	var results texts
	if err := m.renderStrings(n, facts(), &results); err != nil {
		return nil, err
	}
	return Remember(&m.mu, m.rendered, renderKey{n, keyOf(results.list)}, func() (*yamldoc.Node, error) {
		m.spend(n.Memory() + textCost(results.list))
		return replaceStrings(n, &results.list), nil
	})
}

// MaxRendered bounds what the templates of one entry write for one cluster, in bytes (H10).
const MaxRendered = 4 << 20

// texts are what templates have written.
type texts struct {
	list []string
	size int
}

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
func (m *Memo) renderStrings(n *yamldoc.Node, facts any, results *texts) error {
	switch n.Kind {
	case yamldoc.String:
		if !strings.Contains(n.Text, "{{") {
			return nil
		}
		t, err := Remember(&m.mu, m.parsed, n, func() (*tmpl.Template, error) {
			m.spend(costNode + costParse*len(n.Text))
			return tmpl.Parse(n.Pos(), n.Text)
		})
		if err != nil {
			return err
		}
		out, err := t.Execute(facts)
		if err != nil {
			return err
		}
		if results.size += len(out); results.size > MaxRendered {
			return problem.Problem{
				Reason: problem.LimitExceeded, Severity: problem.Error, Pos: n.Pos(), Subject: "templates of a catalog's entry",
				Found: fmt.Sprintf("write %d bytes and more", results.size), Expected: fmt.Sprintf("at most %d bytes", MaxRendered),
			}
		}
		results.list = append(results.list, out)
	case yamldoc.Map:
		for _, f := range n.Fields {
			if err := m.renderStrings(f.Value, facts, results); err != nil {
				return err
			}
		}
	case yamldoc.List:
		for _, item := range n.Items {
			if err := m.renderStrings(item, facts, results); err != nil {
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
	out := *n
	switch n.Kind {
	case yamldoc.String:
		out.Text = (*results)[0]
		*results = (*results)[1:]
	case yamldoc.Map:
		out.Fields = make([]yamldoc.Field, len(n.Fields))
		for i, f := range n.Fields {
			f.Value = replaceStrings(f.Value, results)
			out.Fields[i] = f
		}
	case yamldoc.List:
		out.Items = make([]*yamldoc.Node, len(n.Items))
		for i, item := range n.Items {
			out.Items[i] = replaceStrings(item, results)
		}
	}
	return &out
}
