package catalog_test

import (
	"testing"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/release"
)

// TestOwnChart: the catalogs of charts/application-sets are those of a release that names the chart
// at this program's version, and of no other.
func TestOwnChart(t *testing.T) {
	t.Parallel()
	own := release.Source{RepoURL: charts.Registry, Chart: charts.ApplicationSets, TargetRevision: charts.Version()}
	for group := range charts.Catalogs() {
		l, ok := catalog.OfOwnChart(own, group)
		again, _ := catalog.OfOwnChart(own, group)
		if !ok || l.Root == nil || l.Root != again.Root || l.Level != catalog.Level || !catalog.IsOfOwnChart(l.Path) {
			t.Errorf("group %s: %+v, %t", group, l, ok)
		}
	}
	version, registry, chart := own, own, own
	version.TargetRevision, registry.RepoURL, chart.Chart = "0.0.1", "registry.example.com/charts", "fleet-secret"
	for _, other := range []release.Source{{}, version, registry, chart} {
		if _, ok := catalog.OfOwnChart(other, "fleet"); ok {
			t.Errorf("%+v is taken for the own chart", other)
		}
	}
	if _, ok := catalog.OfOwnChart(own, "unheard-of"); ok {
		t.Error("a catalog of a group that the chart does not have")
	}
}
