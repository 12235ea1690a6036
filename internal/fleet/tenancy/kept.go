package tenancy

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// ChargeKept charges the layers of a tenant's levels that a cluster keeps in memory.
func ChargeKept(layout *fleet.Layout, account *budget.Account, layers []hierarchy.Layer) error {
	for _, l := range layers {
		if layout.OfTenant(l.Level) {
			if err := account.Charge(problem.Pos{File: l.Path}, budget.Cost{budget.Kept: l.Nodes}); err != nil {
				return err
			}
		}
	}
	return nil
}
