package response_test

import (
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// TestIncrementalMappingIsAFreshOne: after each commit, mapped catalogs give the bytes that they
// give to a service that has just started.
func TestIncrementalMappingIsAFreshOne(t *testing.T) {
	const layout = "groups: {addons: {catalog: [a.yaml, b.yaml]}}\nfiles: {values: '{{ .group }}/{{ .folder }}/values.yaml'}\n" +
		"catalogMapping:\n  keys: {chart.name: chartName, chart.repoURL: repository, chart.version: defaultVersion, folder: chartName, releaseName: [release, chartName], values: valuesObject}\n  underscoresToDashes: true\n"
	files := fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml": layout, fleettest.SystemCatalog: "d_ns: {enabled: true}\n", "b.yaml": "{}\n",
		"a.yaml": "d_ns: {chartName: dns, repository: https://charts.example, defaultVersion: 1.0.0, valuesObject: {a: 1}}\n",
	})
	var previous *fleetstate.State
	for i, change := range []fleettest.Tree{
		{},
		{fleettest.OneCatalog: "d_ns: {defaultVersion: 2.0.0, valuesObject: {a: 2}}\n"},
		{"a.yaml": "d_ns: {chartName: other, repository: https://charts.example, defaultVersion: 1.0.0, release: r}\n"},
		{"b.yaml": "d-ns: {chartName: third, valuesObject: {b: 1}}\n"},
		{"addons/defaults/addons/third/values.yaml": "from: third\n"},
		{"fleet/layout.yaml": layout + "catalogValues: last\n"},
		{fleettest.OneCatalog: "d_ns: {enabled: false}\n"},
		{"fleet/layout.yaml": layout},
	} {
		files = files.With(change)
		next, err := fleetstate.Build(previous, fleettest.Snapshot(fmt.Sprint("r", i), files), facts.Set{})
		if err != nil {
			t.Fatal(i, err)
		}
		fresh, err := fleetstate.Build(nil, fleettest.Snapshot(fmt.Sprint("r", i), files), facts.Set{})
		if err != nil || len(fresh.Problems) > 0 {
			t.Fatal(i, err, fresh.Problems)
		}
		sameEverything(t, fmt.Sprint("commit ", i), everything(t, fresh), everything(t, next))
		previous = next
	}
}
