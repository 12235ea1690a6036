package fleet

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/tmpl"
)

// catalogMapping reads the mapping of catalogs in another format; nil without one.
func (p layoutParser) catalogMapping() *catalog.Mapping {
	if !p.root.Has("catalogMapping") {
		return nil
	}
	out := catalog.ReadMapping(p.r, p.root.Map("catalogMapping"))
	for _, n := range out.Source() {
		if n.IsNull() {
			continue // reported
		}
		t, err := tmpl.Parse(n.Pos(), n.Text())
		if err == nil {
			_, err = try(t)
		}
		if err != nil {
			p.fail(n, `key "source"`, err)
		}
	}
	return out
}

// Places of the values of catalog entries among the value files.
const (
	valuesFirst = "first"
	valuesLast  = "last"
)

// catalogValues reports whether the values of catalog entries beat value files.
func (p layoutParser) catalogValues() bool {
	said := p.root.String("catalogValues")
	if said != "" && said != valuesFirst && said != valuesLast {
		p.r.Add(problem.InvalidLayout, p.root.Node().Get("catalogValues"), `key "catalogValues"`, fmt.Sprintf("is %q", said), valuesFirst+" or "+valuesLast, problem.Nearest(said, []string{valuesFirst, valuesLast})...)
	}
	return said == valuesLast
}
