package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// bootstrap applies the one manifest of the hub; the root ApplicationSets, and through them
// everything that Git asks for, come up by themselves.
func bootstrap(t *testing.T, e *environment) {
	began := time.Now()
	must(t, e.Bootstrap(t.Context()))
	e.eventually(t, "the root ApplicationSets", func() string {
		sets := e.ledger.all(hub.Name, "ApplicationSet")
		var missing []string
		for _, name := range append([]string{"members", "agents"}, groups...) {
			if sets[name] == nil {
				missing = append(missing, name)
			}
		}
		return strings.Join(missing, ", ")
	})
	e.timed("bootstrap", "manifest to root ApplicationSets", began)
	e.eventually(t, "the members' cluster Secrets", func() string {
		var missing []string
		for _, name := range e.Members() {
			if e.ledger.get(hub.Name, "Secret", name) == nil {
				missing = append(missing, name)
			}
		}
		return strings.Join(missing, ", ")
	})
	e.timed("bootstrap", "manifest to all members registered", began)
	e.within(t, 4*patience, "an Application for each parameter set, synced", func() string {
		var missing []string
		for _, group := range groups {
			for _, s := range e.components(t, group) {
				if state(e.app(s.ApplicationName)) != good {
					missing = append(missing, s.ApplicationName+" "+state(e.app(s.ApplicationName)))
				}
			}
		}
		slices.Sort(missing)
		return strings.Join(missing, ", ")
	})
	e.synced(t)
	e.timed("bootstrap", "manifest to everything synced on all clusters", began)
	e.settle(t)
	t.Logf("%d Applications from %d ApplicationSets", len(e.ledger.all(hub.Name, "Application")), len(e.ledger.all(hub.Name, "ApplicationSet")))
	e.expected(t)
}

// expected fails where the hub's Applications are not exactly those that the service answers, the
// root ones among them.
func (e *environment) expected(t *testing.T) {
	t.Helper()
	want := map[string]bool{hub.Root: true}
	ask := []map[string]any{{"view": "members"}, {"view": "agents"}, {"view": "grants"}}
	for _, group := range groups {
		ask = append(ask, map[string]any{"view": "releases", "group": group}, map[string]any{"view": "components", "group": group})
	}
	for _, parameters := range ask {
		parameters["hub"] = hub.Name
		for _, s := range e.answer(t, parameters) {
			want[s.ApplicationName] = true
		}
	}
	have := e.ledger.all(hub.Name, "Application")
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] == nil {
			t.Errorf("Application %s is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if !want[name] {
			t.Errorf("Application %s is there, and no parameter set asks for it", name)
		}
	}
}
