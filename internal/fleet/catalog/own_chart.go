package catalog

import (
	"path"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// OfOwnChart returns the catalog of a group in charts/application-sets, where a release names that
// chart at the version of this program. Its ApplicationSets send the entries as base. The same
// catalog is the same node.
func OfOwnChart(s release.Source, group string) (hierarchy.Layer, bool) {
	if s.Chart != charts.ApplicationSets || !charts.IsOwn(s.RepoURL, s.Chart, s.TargetRevision) {
		return hierarchy.Layer{}, false
	}
	l, ok := ownCatalogs()[group]
	return l, ok
}

// IsOfOwnChart reports whether a path is in that chart.
func IsOfOwnChart(file string) bool { return strings.HasPrefix(file, ownChart+"/") }

// ownChart is the chart's name in places.
var ownChart = charts.ApplicationSets + "-" + charts.Version()

// ownCatalogs returns the catalogs of charts/application-sets, by group.
var ownCatalogs = sync.OnceValue(func() map[string]hierarchy.Layer {
	out := map[string]hierarchy.Layer{}
	for group, data := range charts.Catalogs() {
		at := path.Join(ownChart, "catalogs", group+".yaml")
		doc, err := yamldoc.Parse(at, data)
		if err != nil {
			panic(err) //nolint:forbidigo // part of the program, covered by a test
		}
		out[group] = hierarchy.Layer{Level: Level, Path: at, Root: doc.Root}
	}
	return out
})
