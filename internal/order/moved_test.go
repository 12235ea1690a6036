package order_test

import (
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
)

// TestMoveIsNoNewComponent: a component that moves to another release has no Application for a
// moment. It is not held back like a new one: a dependency that fails would leave it without. (D4,
// P1)
func TestMoveIsNoNewComponent(t *testing.T) {
	o := newOrdering(t, "{enabled: true, "+webEntry+"}")
	of := func(release, component string) query.Query {
		q := querytest.Query(o, `{"view":"components","group":"addons","component":"`+component+`","release":"`+release+`"}`)
		q.ApplicationSet = release + "-" + component
		return q
	}
	o.sets = map[string][]query.Query{}
	for _, release := range []string{"default", "canary"} {
		for _, component := range []string{"dns", "web"} {
			q := of(release, component)
			o.sets[q.ApplicationSet] = []query.Query{q}
		}
	}
	first := o.state("first", nil)
	apps := append(o.applied(first, of("default", "dns"), true), o.applied(first, of("default", "web"), true)...)
	first = o.state("first", nil, apps...)
	o.Serving(first)
	given, _ := o.compose(first, of("default", "web"))
	o.Given(first, of("default", "web"), given)

	moved := o.state("second", fleettest.Tree{fleettest.Member("one"): "{clusterName: one, tenant: retail, environment: prod, labels: {addonsRelease: canary}}\n"}, apps...)
	o.Serving(moved)
	if _, is := o.compose(moved, of("default", "web")); is["web-one"].Item().Name != "" {
		t.Fatal("the old release still has it")
	}
	apps = slices.DeleteFunc(apps, func(a facts.Application) bool { return a.Cluster == "one" })
	gone := o.state("second", nil, apps...)
	o.Serving(gone)
	if _, is := o.compose(gone, of("canary", "web")); is["web-one"].Item().Name == "" {
		t.Errorf("web-one was deleted by its old release, and its new one leaves it out: %v", o.Waits(gone))
	}
}
