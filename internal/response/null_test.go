package response_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// nullable are the paths that null is put at: every key of an entry that is decoded after the
// merge, and labels.
var nullable = [][]string{
	{"enabled"},
	{"chart"},
	{"chart", "name"},
	{"chart", "repoURL"},
	{"chart", "version"},
	{"chart", "path"},
	{"namespace"},
	{"releaseName"},
	{"selector"},
	{"selector", "matchLabels"},
	{"selector", "matchExpressions"},
	{"selector", "matchLabels", "a"},
	{"selector", "matchLabels", "b"},
	{"selector", "matchLabels", "c"},
	{"values"},
	{"kind"},
	{"dependsOn"},
	{"substitute"},
	{},
}

// takesOut are those by which a set may leave the response: they remove what switches the component
// on.
var takesOut = []string{"", "chart", "chart.name"}

// randomEntry is a level's entry of the component dns.
func randomEntry(r *rand.Rand) map[string]any {
	out := map[string]any{}
	maybe := func(key string, values ...any) {
		if r.IntN(3) == 0 {
			out[key] = values[r.IntN(len(values))]
		}
	}
	maybe("enabled", true, false, "true", "false")
	maybe("namespace", "dns", "other")
	maybe("releaseName", "dns")
	maybe("values", map[string]any{"x": 1}, nil)
	labels := map[string]any{}
	for _, key := range []string{"a", "b", "c"} {
		if r.IntN(3) == 0 {
			labels[key] = []any{"x", "y", ""}[r.IntN(3)]
		}
	}
	expression := map[string]any{"key": "a", "operator": []any{"In", "NotIn"}[r.IntN(2)], "values": []any{"x"}}
	maybe("selector", map[string]any{"matchLabels": labels}, map[string]any{"matchLabels": labels, "matchExpressions": []any{expression}})
	return out
}

func catalogFile(t *testing.T, entry any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"dns": entry})
	require.NoError(t, err)
	return string(text)
}

// TestNullRemovesNothingFromAClusterByItself: a null in any key of an entry removes what lower
// levels say of that key (H2). It is no statement: no set is answered with cascade because of it,
// and none leaves the response that the key does not switch on. (D1)
func TestNullRemovesNothingFromAClusterByItself(t *testing.T) {
	for seed := range uint64(cases.Times(100)) {
		r := rand.New(rand.NewPCG(seed, 19))
		lowest := randomEntry(r)
		lowest["enabled"] = true
		lowest["chart"] = map[string]any{"repoURL": "https://charts.example", "name": "dns", "version": "1.0.0"}
		var labels []string
		for _, key := range []string{"a", "b", "c"} {
			if r.IntN(2) == 0 {
				labels = append(labels, fmt.Sprintf("%s: %s", key, []string{"x", "y", `""`}[r.IntN(3)]))
			}
		}
		files := fleettest.Small().With(fleettest.Tree{
			fleettest.Member("one"): fleettest.Spoke("one", "labels: {"+strings.Join(labels, ", ")+"}\n"),
			fleettest.SystemCatalog: catalogFile(t, lowest),
			"addons/tenants/retail/defaults/application-sets/addons.yaml": catalogFile(t, randomEntry(r)),
		})
		app := facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns", Release: "default"}
		known := facts.NewSet(false).WithApplications(app)
		before := querytest.Next(t, nil, fleettest.Snapshot("1", files), known)
		path := nullable[r.IntN(len(nullable))]
		var null any
		for _, key := range slices.Backward(path) {
			null = map[string]any{key: null}
		}
		after := querytest.Next(t, before, fleettest.Snapshot("2", files.With(fleettest.Tree{fleettest.OneCatalog: catalogFile(t, null)})), known)
		deletion := func(st *fleetstate.State) string {
			set, is := querytest.Ask(t, st, querytest.Addons)["dns-one"]
			if !is {
				return "left out"
			}
			return set.Text("deletion")
		}
		was, is := deletion(before), deletion(after)
		at := strings.Join(path, ".")
		if is == "cascade" && was != "cascade" || is != was && was == "orphan" && !slices.Contains(takesOut, at) {
			t.Errorf("seed %d: null at %q makes %s of %s:\n%s", seed, at, is, was, files)
		}
	}
}
