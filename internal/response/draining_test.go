package response_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const drainingTwo = "{clusterName: two, tenant: retail, environment: dev, labels: {addonsRelease: canary}, lifecycle: draining}\n"

// of is one cluster's sets in the answer to a request, as bytes.
func of(t testing.TB, st *fleetstate.State, cluster, parameters string) string {
	t.Helper()
	b, err := response.Bytes(st, querytest.Query(t, parameters))
	require.NoError(t, err)
	var texts struct {
		Output struct{ Parameters []json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(b, &texts))
	var out []string
	for i, s := range querytest.Sets(t, b) {
		if s.Text("name") == cluster {
			out = append(out, strings.Replace(string(texts.Output.Parameters[i]), `"hold":"draining",`, "", 1))
		}
	}
	return strings.Join(out, "\n")
}

var drainingAsks = []string{`{"view":"members"}`, `{"view":"components","group":"addons"}`, `{"view":"agents"}`}

// Rule 12: a draining member keeps its sets byte for byte, their revision included, in every view
// and over a restart, until it is active again; all others go on.
func TestDrainingKeepsWhatRuns(t *testing.T) {
	change := fleettest.Tree{"addons/defaults/addons/dns/values.yaml": "replicas: 9\n", fleettest.SystemCatalog: "dns: {enabled: true, namespace: elsewhere, " + fleettest.DNSChart + "}\nnew: {enabled: true, " + fleettest.DNSChart + "}\n"}
	before := querytest.NoProblems(t, querytest.Build(t, fleettest.Small()))
	step := func(previous *fleetstate.State, files fleettest.Tree) *fleetstate.State {
		t.Helper()
		st, err := fleetstate.Build(previous, fleettest.Snapshot("rev", files), facts.Set{})
		require.NoError(t, err)
		return querytest.NoProblems(t, st)
	}
	draining := fleettest.Tree{fleettest.Member("two"): drainingTwo}
	at := step(before, fleettest.Small().With(draining).With(change)) // it takes nothing of the commit that says so either
	later := step(at, fleettest.Small().With(draining).With(change).With(fleettest.Tree{"addons/defaults/addons/dns/values.yaml": "replicas: 10\n"}))
	restarted, err := fleetstate.Restore(nil, fleettest.Snapshot("rev", fleettest.Small().With(draining).With(change)), facts.Set{}, at.LastKnownGood())
	require.NoError(t, err)
	for name, st := range map[string]*fleetstate.State{"the commit": at, "a later one": later, "a restart": restarted} {
		for _, ask := range drainingAsks {
			assert.Equal(t, of(t, before, "two", ask), of(t, st, "two", ask), "%s: %s", name, ask)
		}
		ask := drainingAsks[1]
		if got := of(t, st, "one", ask); got == of(t, before, "one", ask) || !strings.Contains(got, "elsewhere") {
			t.Errorf("%s: all others do not go on: %s", name, got)
		}
		if s := summary(st, "two"); s.Lifecycle != "draining" || s.Keeps != before.Revision || s.Quarantine != nil {
			t.Errorf("%s: %+v", name, s)
		}
		if e, err := explain.Component(st, explain.Target{Hub: "hub", Cluster: "two", Group: "addons", Component: "dns"}, nil); err != nil || e.Lifecycle != "draining" || e.Revision != before.Revision {
			t.Errorf("%s: explained as %+v, %v", name, e, err)
		}
	}
	again := step(later, fleettest.Small().With(change))
	assert.Equal(t, of(t, querytest.Build(t, fleettest.Small().With(change)), "two", drainingAsks[1]), of(t, again, "two", drainingAsks[1]), "active again")
	retired := step(later, fleettest.Small().With(change).With(fleettest.Tree{fleettest.Member("two"): strings.Replace(drainingTwo, "draining", "retired", 1)}))
	assert.Equal(t, "", of(t, retired, "two", drainingAsks[1]), "retired")
}

func summary(st *fleetstate.State, name string) inventory.Summary {
	for _, s := range inventory.Summaries(st) {
		if s.Name == name {
			return s
		}
	}
	return inventory.Summary{}
}

// Rule 12: of one that is draining when it is first seen, or that had retired, the first snapshot
// counts.
func TestMemberMayBeginDraining(t *testing.T) {
	draining, ask := fleettest.Small().With(fleettest.Tree{fleettest.Member("two"): drainingTwo}), drainingAsks[1]
	change := draining.With(fleettest.Tree{"addons/defaults/addons/dns/values.yaml": "replicas: 9\n"})
	retired := querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.Member("two"): strings.Replace(drainingTwo, "draining", "retired", 1)}))
	for name, previous := range map[string]*fleetstate.State{"first start": nil, "retired before": retired} {
		first, err := fleetstate.Build(previous, fleettest.Snapshot("rev", draining), facts.Set{})
		require.NoError(t, err)
		next, err := fleetstate.Build(first, fleettest.Snapshot("rev", change), facts.Set{})
		require.NoError(t, err)
		if got, want := of(t, next, "two", ask), of(t, first, "two", ask); got != want || !strings.Contains(want, first.Revision) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if of(t, next, "two", ask) == of(t, querytest.Build(t, change), "two", ask) {
			t.Errorf("%s: the change is none", name)
		}
	}
}

// Rules 10 and 12: a draining member that a commit breaks is quarantined at the home that it has,
// and goes on draining from there when it is fixed. Facts that would break its home are a problem
// of it, and no reason to leave home.
func TestBrokenDrainingMemberStaysDraining(t *testing.T) {
	ask := drainingAsks[1]
	files := fleettest.Small().With(fleettest.Tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml.gotmpl": "zone: {{ .labels.zone }}\n"})
	secret := func(labels map[string]string) facts.Set {
		return facts.NewSet(false, facts.Cluster{Name: "two", Labels: labels}, facts.Cluster{Name: "one", Labels: map[string]string{"zone": "z"}})
	}
	good := secret(map[string]string{"zone": "z"})
	step := func(previous *fleetstate.State, files fleettest.Tree, f facts.Set) *fleetstate.State {
		t.Helper()
		st, err := fleetstate.Build(previous, fleettest.Snapshot("rev", files), f)
		require.NoError(t, err)
		return st
	}
	before := querytest.NoProblems(t, step(nil, files, good))
	draining := files.With(fleettest.Tree{fleettest.Member("two"): drainingTwo, "addons/defaults/addons/dns/values.yaml": "replicas: 9\n"})
	at := querytest.NoProblems(t, step(before, draining, good))
	broken := step(at, draining.With(fleettest.Tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml.gotmpl": "a: [\n"}), good)
	if q := summary(broken, "two").Quarantine; q == nil || q.Standing != fleetstate.Kept || q.Revision != before.Revision {
		t.Errorf("broken: %+v", q)
	}
	repaired := querytest.NoProblems(t, step(broken, draining, good))
	assert.Equal(t, of(t, before, "two", ask), of(t, repaired, "two", ask), "repaired")
	fixed := draining.With(fleettest.Tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml.gotmpl": "zone: none\n"})
	lost := step(at, fixed, secret(nil))
	if got := lost.Lost(at, "hub"); len(got) == 0 || got[0].Cluster != "two" {
		t.Errorf("facts that break its home: %v, and it is answered %s", got, of(t, lost, "two", ask))
	}
}
