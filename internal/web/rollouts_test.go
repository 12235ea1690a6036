package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web"
	"github.com/argosy-hub/argosy/internal/web/board"
)

const (
	rolloutFile = "fleet/rollouts/prod.yaml"
	rolloutText = `apiVersion: argosy.dev/v1alpha1
kind: Rollout
scope: {groups: [addons]}
rings:
  - name: canary
    selector: {matchLabels: {environment: dev}}
    soak: 30m
  - name: prod
    selector: {matchLabels: {environment: prod}}
    maxUnavailable: 10%
    approval: required
    windows: [{days: [mon, tue], from: "09:00", to: "16:00", timeZone: Europe/Berlin}]
    freezes:
      - {from: 2026-11-24, to: 2026-11-24, timeZone: Europe/Berlin, reason: secretive <b>audit</b>}
      - {from: 2026-12-01T12:00, to: 2026-12-02, timeZone: Europe/Berlin}
approvals:
  - {ring: prod, revision: "2222222222222222222222222222222222222222", expires: 2026-11-30, reason: secretive is ready}
  - {ring: prod, revision: "1111111111111111111111111111111111111111", expires: 2026-11-01, overtake: true, reason: old}
`
	oldRevision, newRevision = "2222222222222222222222222222222222222222", "4444444444444444444444444444444444444444"
)

// rolling is wide's fleet with a rollout whose canary soaks, and what its rings report.
func rolling(t testing.TB) (*fleet, func(*web.Options)) {
	t.Helper()
	f := &fleet{}
	f.serve(t, oldRevision, wideFiles(), facts.Set{})
	f.serve(t, newRevision, wideFiles().With(fleettest.Tree{rolloutFile: rolloutText}), facts.Set{})
	began := now.Add(-10 * time.Minute)
	train := func(n int, revision string) rollout.Train { return rollout.Train{Number: n, Revision: revision} }
	soak := &rollout.Wait{Ring: "canary", Train: train(2, newRevision), Reason: rollout.Soaking, Since: began, Earliest: began.Add(30 * time.Minute)}
	wait := &rollout.Wait{Ring: "prod", Train: train(2, newRevision), Reason: rollout.Unhealthy, Cluster: "secretive", Detail: "dns-secretive is degraded", Since: began}
	report := rings.Report{Hub: "hub", Revision: newRevision, Rollouts: []rings.Rollout{{
		Name: "prod", Problem: "the store is away from secretive", Policy: f.State().Fleet.Rollouts[0],
		Rings: []rings.Ring{
			{Name: "canary", Members: 3, Revision: newRevision, Train: 2, Since: began, HealthySince: began, IsNewest: true, Wait: soak, Text: soak.String()},
			{Name: "prod", Members: 2, Revision: oldRevision, Train: 1, Since: began.Add(-time.Hour), Passed: true, Wait: wait, Text: wait.String(), Rejection: "dns-secretive is degraded"},
		},
	}}}
	return f, func(o *web.Options) { o.Rollouts = func() rings.Report { return report } }
}

// TestRolloutsAreABoard: rings and revisions, what each ring waits for, since and until when, and
// who approved, with the place of each; the matrix names the ring.
func TestRolloutsAreABoard(t *testing.T) {
	t.Parallel()
	f, rollouts := rolling(t)
	server := site(t, f, rollouts)
	var twin struct {
		Kind string
		View board.Rollouts
	}
	require.NoError(t, json.Unmarshal([]byte(get(t, server, secret, "/api/v1/board").body), &twin))
	b := twin.View.Rollouts[0]
	if twin.Kind != "Rollouts" || strings.Join(b.Revisions, " ") != newRevision+" "+oldRevision || len(b.Approvals) != 2 || b.Approvals[0].Expired || !b.Approvals[1].Expired {
		t.Errorf("%+v", b)
	}
	if got := [2][]string{b.Rings[0].Cells, b.Rings[1].Cells}; got[0][0] != board.CellSoaking || got[0][1] != "" || got[1][0] != board.CellNext || got[1][1] != board.CellPassed {
		t.Errorf("%q", got)
	}
	page := get(t, server, secret, "/rollouts").body
	for _, want := range []string{
		"has it, soaks", "waits to take it", "has it, passed", "soak 30m ·", "at most 10% unavailable", `until at the earliest <time datetime="2026-11-23T12:20:00Z">`, "secretive is ready",
		"https://github.com/example/fleet/blob/" + newRevision + "/fleet/rollouts/prod.yaml#", "the store is away",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	if matrix := get(t, server, secret, "/").body; !strings.Contains(matrix, "ring canary") || !strings.Contains(matrix, "ring prod") {
		t.Error("the matrix names no ring")
	}
	for path, r := range crawl(t, server, secret, "/rollouts", "/calendar") {
		assert.Equal(t, 200, r.code, "%s", path)
		if strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
			for _, problem := range invalid(r.body) {
				t.Errorf("%s: %s", path, problem)
			}
		}
	}
	empty := site(t, wide(t))
	for _, path := range []string{"/rollouts", "/calendar"} {
		if r := get(t, empty, secret, path); r.code != 200 || !strings.Contains(r.body, "No rollouts") {
			t.Errorf("%s without a policy: %d %s", path, r.code, r.body)
		}
	}
}

// TestCalendarOfWindowsAndFreezes: each day of each ring has its windows, by their own clock, and
// its freezes.
func TestCalendarOfWindowsAndFreezes(t *testing.T) {
	t.Parallel()
	f, rollouts := rolling(t)
	server := site(t, f, rollouts)
	var twin struct{ View board.Calendar }
	require.NoError(t, json.Unmarshal([]byte(get(t, server, secret, "/api/v1/calendar").body), &twin))
	canary, prod := twin.View.Rings[0], twin.View.Rings[1]
	if !canary.Open || canary.Days[0].State != board.DayOpen || len(canary.Days) != 14 {
		t.Errorf("%+v", canary)
	}
	var got []string
	for _, d := range prod.Days[:10] {
		got = append(got, d.Date[8:]+" "+d.State)
	}
	if want := "23 hours,24 frozen,25 closed,26 closed,27 closed,28 closed,29 closed,30 hours,01 hours,02 frozen"; strings.Join(got, ",") != want {
		t.Errorf("%s, want %s", strings.Join(got, ","), want)
	}
	if d := prod.Days[8]; len(d.Freezes) != 1 || d.Freezes[0] != "frozen from 01 Dec 12:00 to 03 Dec 00:00 CET" || d.Hours[0] != "09:00–16:00 Europe/Berlin" {
		t.Errorf("%+v", d)
	}
	if !prod.Open { // a Monday, 13:00 in Berlin
		t.Errorf("%+v", prod)
	}
	if page := get(t, server, secret, "/calendar").body; !strings.Contains(page, "frozen: secretive &lt;b&gt;audit") || strings.Contains(page, "<b>audit") {
		t.Error(page)
	}
}

// TestRolloutsHideOtherClusters: a token for some clusters sees the rings, and no name of another
// cluster, in no reason either; one that no policy concerns sees no rollout.
func TestRolloutsHideOtherClusters(t *testing.T) {
	t.Parallel()
	f, rollouts := rolling(t)
	server := site(t, f, rollouts)
	for path, r := range crawl(t, server, retail, "/rollouts", "/calendar", "/api/v1/board", "/api/v1/calendar", "/") {
		for _, name := range []string{"secretive", "laboratory", "bank"} {
			if strings.Contains(r.body, name) {
				t.Errorf("%s shows %q", path, name)
			}
		}
	}
	if r := get(t, server, retail, "/rollouts"); !strings.Contains(r.body, "has it, soaks") || !strings.Contains(r.body, "<b>health</b>") {
		t.Error(r.body)
	}
	for _, path := range []string{"/rollouts", "/calendar"} {
		get(t, server, hubTwo, path).is(t, 200, path, "No rollout policy concerns")
	}
}

// TestScopeOfGroupsHidesRollouts: a token for groups sees no rollout of others, and of one that has
// others, too, no name of a component.
func TestScopeOfGroupsHidesRollouts(t *testing.T) {
	t.Parallel()
	wait := &rollout.Wait{Ring: "prod", Reason: rollout.Unhealthy, Cluster: "one", Detail: "grafana-one is degraded"}
	report := rings.Report{Hub: "hub", Revision: newRevision, Rollouts: []rings.Rollout{{
		Name: "prod", Rings: []rings.Ring{{Name: "canary"}, {Name: "prod", Wait: wait, Text: wait.String()}},
	}}}
	for scope, shown := range map[string]int{"{groups: [fleet]}": 0, "{components: [fleet/fleet-secret]}": 0, "{groups: [addons, fleet]}": 1, "{components: [addons/dns]}": 1} {
		f := &fleet{}
		text := strings.Replace(rolloutText, "{groups: [addons]}", scope, 1)
		f.serve(t, newRevision, wideFiles().With(fleettest.Tree{rolloutFile: text}), facts.Set{})
		report.Rollouts[0].Policy = f.State().Fleet.Rollouts[0]
		server := site(t, f, func(o *web.Options) { o.Rollouts = func() rings.Report { return report } })
		if r := get(t, server, secret, "/api/v1/board"); !strings.Contains(r.body, "grafana-one") {
			t.Fatalf("%s, the platform: %s", scope, r.body)
		}
		var rollouts struct{ View board.Rollouts }
		var days struct{ View board.Calendar }
		r := get(t, server, addons, "/api/v1/board")
		require.NoError(t, json.Unmarshal([]byte(r.body), &rollouts))
		require.NoError(t, json.Unmarshal([]byte(get(t, server, addons, "/api/v1/calendar").body), &days))
		if len(rollouts.View.Rollouts) != shown || (len(days.View.Rings) > 0) != (shown > 0) || strings.Contains(r.body, "grafana") {
			t.Errorf("%s: %d rings in the calendar, %s", scope, len(days.View.Rings), r.body)
		}
		if m := get(t, server, addons, "/api/v1/matrix"); strings.Contains(m.body, `"rings"`) != (shown > 0) {
			t.Errorf("%s: %s", scope, m.body)
		}
	}
}
