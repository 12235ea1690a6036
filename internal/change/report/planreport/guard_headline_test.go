package planreport

import (
	"strings"
	"testing"
)

// TestHeldTenantsAreCountedOnce: a tenant with members on two hubs is one.
func TestHeldTenantsAreCountedOnce(t *testing.T) {
	t.Parallel()
	for want, tenants := range map[string][]string{"hold 1 tenant on": {"retail", "retail", ""}, "hold 2 tenants on": {"retail", "payments"}} {
		var g Guard
		for _, tenant := range tenants {
			g.Commits = append(g.Commits, CommitRefusal{Tenant: tenant})
		}
		if got := g.refusals(1)[0].Headline; !strings.Contains(got, want) {
			t.Errorf("%v: %s", tenants, got)
		}
	}
}
