package fleet

import (
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
)

// catalogMapping reads the mapping of catalogs in another format; nil without one.
func (p layoutParser) catalogMapping() *catalog.Mapping {
	if p.d.CatalogMapping.Node == nil {
		return nil
	}
	out := catalog.ReadMapping(p.at.Reader, p.at.Keys().Map("catalogMapping"))
	for _, n := range out.Source() {
		if n.IsNull() {
			continue // reported
		}
		t, err := tmpl.Parse(n.Pos(), n.Text())
		if err == nil {
			_, err = try(t)
		}
		if err != nil {
			p.at.Fail("catalogMapping.source", err)
		}
	}
	return out
}
