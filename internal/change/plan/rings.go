package plan

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Rings is the order in which the rings of a rollout policy take the change.
type Rings struct {
	Rollout string `json:"rollout"`
	// Rings are all of them, in order, with the clusters that change in each.
	Rings []RingStep `json:"rings"`
}

// RingStep is one ring of a rollout. Clusters may be none.
type RingStep struct {
	Ring     string   `json:"ring"`
	Clusters []string `json:"clusters"`
}

// ringsOf returns the rings through which a hub's changes go, by the head's policies. A change
// waits for rings only if the hub's engine deploys it, or, where the policy has agents, an agent's
// engine.
func ringsOf(before, after *fleetstate.State, h Hub) (out []Rings) {
	for _, policy := range after.Fleet.Rollouts {
		steps := make([]RingStep, len(policy.Rings))
		for i, r := range policy.Rings {
			steps[i] = RingStep{Ring: r.Name, Clusters: []string{}}
		}
		changes := false
		for _, c := range h.Clusters {
			m := after.Fleet.Member(h.Name, c.Name)
			if m == nil || !policy.Covers(m.InRollout()) || !slices.ContainsFunc(c.Applications, func(a Application) bool {
				return covers(policy, a) && !isNewTo(before, policy, m.InRollout(), a)
			}) {
				continue
			}
			i := policy.RingOf(m.InRollout())
			steps[i].Clusters, changes = append(steps[i].Clusters, c.Name), true
		}
		if changes {
			out = append(out, Rings{Rollout: policy.Name, Rings: steps})
		}
	}
	return out
}

// covers reports whether an Application waits for the rings of a policy.
func covers(p *rollout.Policy, a Application) bool {
	return (a.Owner == fleet.OwnerHub || p.Agents) && p.Scope.Covers(a.Group, a.Component)
}

// isNewTo reports whether the base has the policy, but no policy that covers the Application. Such
// an Application follows the newest commit until the ring takes this one (internal/rings).
func isNewTo(base *fleetstate.State, p *rollout.Policy, m rollout.Member, a Application) bool {
	was := base.Fleet.Rollouts
	return slices.ContainsFunc(was, func(q *rollout.Policy) bool { return q.Name == p.Name }) &&
		!slices.ContainsFunc(was, func(q *rollout.Policy) bool { return covers(q, a) && q.Covers(m) })
}
