package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestRemovalHasAReason: why a parameter set of member one is no longer in a response, and what
// becomes of the workloads. (D2, D3)
func TestRemovalHasAReason(t *testing.T) {
	t.Parallel()
	const members, agents, addons = `{"view":"members"}`, `{"view":"agents"}`, querytest.Addons
	one := func(more string) fleettest.Tree {
		return fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", more)}
	}
	for name, c := range map[string]struct {
		more      fleettest.Tree
		ask       string
		component string
		want      string
	}{
		"a retired member's registration":  {one("lifecycle: retired\n"), members, "", "retired cascade: its member file says so"},
		"a retired member's component":     {one("lifecycle: retired\n"), addons, "dns", "retired orphan: its member file says so"},
		"a retired member's, with cascade": {one("lifecycle: retired\ndeletion: cascade\n"), addons, "dns", "retired cascade: its member file says so"},
		"a member file that is gone":       {fleettest.Tree{fleettest.Member("one"): ""}, addons, "dns", "lost orphan: its member file is gone"},
		"a member that is no agent":        {nil, agents, "", "disabled orphan: it is no agent any more"},
		"a component switched off":         {fleettest.Tree{fleettest.OneCatalog: "dns: {enabled: false}\n"}, addons, "dns", "disabled cascade: switched off"},
		"a component nothing switches on":  {fleettest.Tree{fleettest.SystemCatalog: "dns: {" + fleettest.DNSChart + "}\n"}, addons, "dns", "lost orphan: nothing switches it on any more"},
		"a component of no catalog":        {fleettest.Tree{fleettest.SystemCatalog: ""}, addons, "dns", "lost orphan: no catalog has it any more"},
		"a member on another release":      {one("labels: {addonsRelease: canary}\n"), `{"view":"components","group":"addons","release":"default"}`, "dns", `moved orphan: it is on release "canary"`},
		"a member whose engine owns it":    {one("use_remote_argo: true\nenable_remote_addons: true\n"), addons, "dns", "moved orphan: another engine owns its group"},
		"a label that refuses":             {nil, `{"view":"components","group":"addons","selector":{"matchLabels":{"environment":"dev"}}}`, "dns", "disabled orphan: a label keeps it from being selected"},
		"a label that is gone":             {nil, `{"view":"components","group":"addons","selector":{"matchLabels":{"tier":"web"}}}`, "dns", "lost orphan: it lacks a label that is selected by"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := querytest.Build(t, fleettest.Small().With(c.more))
			removals, err := lifecycle.RemovalsOf(st, querytest.Query(t, c.ask))
			require.NoError(t, err)
			r := removals.Of("one", c.component)
			assert.Equal(t, c.want, fmt.Sprintf("%s %s: %s", r.Reason, r.Deletion, r.Detail))
		})
	}
}

// TestRemovalOfAnInvalidMemberNamesItsError: the hub has Applications of a member that has no last
// known good. Their removal would be due to the error in its file. (G2)
func TestRemovalOfAnInvalidMemberNamesItsError(t *testing.T) {
	t.Parallel()
	files := fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "tenannt: x\n")})
	known := facts.NewSet(false).WithApplications(fleettest.Application("dns", "one", "default"))
	removals, err := lifecycle.RemovalsOf(querytest.Next(t, nil, fleettest.Snapshot("rev", files), known), querytest.Query(t, querytest.Addons))
	require.NoError(t, err)
	if r := removals.Of("one", "dns"); r.Reason != lifecycle.Lost || r.Deletion != fleet.Orphan || !strings.Contains(r.Detail, "tenannt") || r.Pos.Line != 4 {
		t.Errorf("got %s, %s; expected lost for the key in line 4, orphan", r, r.Deletion)
	}
}

// TestMoveIsKnownWithOtherLastKnownGood: a service that takes over the last known good snapshots of
// a replica still knows that a member has moved to another hub. (D2, G4)
func TestMoveIsKnownWithOtherLastKnownGood(t *testing.T) {
	t.Parallel()
	const at, to = "fleet/fleet-members/hub-1/a.yaml", "fleet/fleet-members/hub-2/a.yaml"
	before := querytest.Build(t, fleettest.TwoHubs())
	files := fleettest.TwoHubs().With(fleettest.Tree{at: "", to: fleettest.TwoHubs()[at]})
	s := fleettest.Snapshot("moved", files)
	after := querytest.Next(t, before, s, before.Facts())
	query := querytest.Query(t, `{"hub":"hub-1","view":"components","group":"addons"}`)
	for name, c := range map[string]struct {
		other *fleetstate.State
		want  lifecycle.Reason
	}{
		"of the same commit": {after, lifecycle.Moved},
		"of none":            {nil, lifecycle.Lost},
		"of another commit":  {before, lifecycle.Lost},
	} {
		st, err := fleetstate.Restore(c.other, s, before.Facts(), nil)
		require.NoError(t, err)
		removals, err := lifecycle.RemovalsOf(st, query)
		require.NoError(t, err)
		assert.Equal(t, c.want, removals.Of("a", "dns").Reason, "with the state %s", name)
	}
}
