package catalog

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/labels"
)

// companionKeys are the keys of a companion.
var companionKeys = []string{KeyChart, KeyReleaseName, KeyValues}

// readCompanions reads the names of an entry's further charts, sorted as its keys are.
func (e *Entry) readCompanions(r *yamldoc.Reader, m *yamldoc.MapReader) {
	all := m.Map(KeyCompanions)
	if all.Node() == nil {
		return
	}
	for _, f := range all.Node().Fields() {
		switch {
		case !labels.IsName(f.Key):
			r.AddAt(problem.InvalidValue, all.Node().KeyPos(f.Key), fmt.Sprintf("companion %q", f.Key), "is not a DNS-1123 label", "lower case letters, digits and inner hyphens")
			continue
		case f.Key == KeyValues:
			r.AddAt(problem.InvalidValue, all.Node().KeyPos(f.Key), `companion "values"`, "has the name of the component's own values file", "another name")
			continue
		}
		c := all.Map(f.Key)
		c.Known(companionKeys...)
		c.String(KeyReleaseName)
		at := c.Map(KeyChart)
		at.Known(ChartKeys...)
		for _, key := range ChartKeys {
			at.String(key)
		}
		if v := at.Node().Get("version"); v != nil && v.Kind == yamldoc.Number {
			r.Add(problem.InvalidValue, v, `key "chart.version"`, "is a number", "text", "put it in quotes: YAML reads 1.10 as 1.1")
		}
		if v := c.Node().Get(KeyValues); v != nil && !v.IsMap() {
			r.Add(problem.InvalidValue, v, fmt.Sprintf("values of companion %q", f.Key), "is a "+v.Kind.String(), "a map")
		}
		e.Companions = append(e.Companions, f.Key)
	}
}
