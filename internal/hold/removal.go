package hold

import (
	"cmp"
	"fmt"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/order"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// OfRemovals returns the holds of removals: one for each cell that would go or move, and one for
// all others of a response that is refused.
func OfRemovals(st *fleetstate.State, refused []guard.RefusedRemoval) (out []Hold) {
	for _, r := range refused {
		of := Hold{Reason: Removal, Hub: r.Hub, Since: r.Since, Detail: "its whole response is refused; " + r.Message}
		of.Group, of.Component = scopeOf(r)
		if r.Owner != "" && r.Owner != fleet.OwnerHub {
			of.Cluster = r.Owner
		}
		cells, verb := r.Removals, "would go"
		if r.Pending {
			of.Reason, cells, verb = Handover, r.Moves, "moves"
		}
		for _, l := range cells {
			h := of
			h.Cluster, h.Tenant, h.Position = l.Cluster, tenantOf(st, r.Hub, l.Cluster), l.Pos
			h.Group, h.Component = cmp.Or(l.Group, of.Group), cmp.Or(l.Component, of.Component)
			h.Detail = fmt.Sprintf("%s (%s); %s", verb, causeOf(l), r.Message)
			out = append(out, h)
		}
		if !r.IsHeld {
			out = append(out, of)
		}
	}
	return out
}

// scopeOf returns the group and the component that a refused query asks for.
func scopeOf(r guard.RefusedRemoval) (group, component string) {
	switch r.View {
	case query.Members:
		return fleetstate.FleetGroup, fleetstate.Registration
	case query.Agents:
		return fleetstate.FleetGroup, fleetstate.Agent
	case query.Grants:
		return fleetstate.FleetGroup, string(query.Grants)
	}
	return r.Group, r.Component
}

// causeOf is the cause of a removal in a few words.
func causeOf(l lifecycle.Removal) string {
	if l.Detail == "" {
		return string(l.Reason)
	}
	return string(l.Reason) + ": " + l.Detail
}

// tenantOf is the tenant of a cluster, empty for one without a member file.
func tenantOf(st *fleetstate.State, hub, cluster string) string {
	if c := st.Cluster(hub, cluster); c != nil {
		return c.Member.Tenant
	}
	return ""
}

// OfWaits returns the holds of components that wait for others.
func OfWaits(st *fleetstate.State, waits []order.Wait) (out []Hold) {
	for _, w := range waits {
		out = append(out, Hold{
			Reason: Dependency, Hub: w.Hub, Tenant: tenantOf(st, w.Hub, w.Cluster), Cluster: w.Cluster, Group: w.Group, Component: w.Component,
			Detail: "waits for " + w.For + ": " + w.Reason, Revision: w.Revision,
		})
	}
	return out
}
