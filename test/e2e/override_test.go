package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
)

// override sets a value at the tenant's, the environment's and the cluster's level in turn (H1): it
// reaches the clusters of that level and, where a more specific level says otherwise, not those;
// nothing else changes anywhere, and no other ApplicationSets are reconciled than theirs.
func override(t *testing.T, e *environment) {
	const component, file = "metrics-server", "addons/metrics-server/values.yaml"
	for _, level := range []struct {
		name, folder string
		changes      []string // the clusters that get another value
		keep         []string // those that have a more specific word on it by now: their answers name one file more
	}{
		{"cluster", "addons/tenants/retail/clusters/retail-dev-eu-1/", []string{"retail-dev-eu-1"}, nil},
		{"environment", "addons/tenants/retail/environments/prod/", []string{"retail-prod-eu-1"}, nil},
		{"tenant", "addons/tenants/retail/defaults/", []string{hub.Spare}, []string{"retail-dev-eu-1", "retail-prod-eu-1"}},
	} {
		mark, before := e.ledger.mark(), e.now()
		e.add(t, level.folder+file, fmt.Sprintf("podLabels:\n  level: %s\n", level.name))
		began := e.push(t, "A value at the level of the "+level.name)
		e.eventually(t, "the Applications of "+fmt.Sprint(level.changes), func() string {
			return e.unchanged(mark, hub.Name, "Application", component, level.changes)
		})
		e.timed("override", level.name+": push to Application", began)
		e.eventually(t, "the value on "+fmt.Sprint(level.changes), func() string {
			for _, c := range level.changes {
				if have := e.value(c, component, "podLabels", "level"); have != level.name {
					return fmt.Sprintf("%s has %v", c, have)
				}
			}
			return ""
		})
		e.timed("override", level.name+": push to spoke", began)
		e.synced(t)
		e.timed("override", level.name+": push to synced", began)
		e.settle(t)
		e.reconciled(t, before, component, slices.Concat(level.changes, level.keep))
		for _, c := range e.ledger.unsynced(mark) {
			if !strings.HasPrefix(c.name, component+"-") {
				t.Errorf("%s became out of sync: asking anew has changed what it made", c.name)
			}
		}
		e.only(t, mark, func(c change) bool {
			return c.what == "changed" && slices.ContainsFunc(level.changes, func(cluster string) bool {
				return c.name == component+"-"+cluster || c.cluster == cluster && c.name == component+"-values"
			})
		})
	}
	live(t, e, "retail-dev-eu-1", component)
}

// unchanged names the clusters whose object of a component has not changed since a mark.
func (e *environment) unchanged(mark int, on, kind, component string, clusters []string) string {
	var out []string
	for _, cluster := range clusters {
		if !slices.ContainsFunc(e.ledger.since(mark), func(c change) bool {
			return c.cluster == on && c.kind == kind && c.name == component+"-"+cluster && c.what == "changed"
		}) {
			out = append(out, cluster)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("unchanged: %v", out)
}

// add puts text at the end of a file of the fleet, which may not be there yet.
func (e *environment) add(t *testing.T, path, text string) {
	t.Helper()
	before, err := e.Fleet.Read(path)
	if err != nil {
		before = ""
	}
	e.write(t, path, before+text)
}
