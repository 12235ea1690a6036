package rings

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/roster"
)

// Holds returns the holds of frozen cells, and of rings that are not at the newest revision: one
// for each cell that the responses have otherwise than the newest revision. Where no response says
// it (a Flux artifact, an agent), it is one for each group of a member.
func (r *Rings) Holds(st *fleetstate.State) (out []hold.Hold) {
	if !r.keepsAnything(st) {
		return nil
	}
	if out = r.viewOf(st).frozenHolds(); !r.HasPolicies(st) {
		return out
	}
	v, report := r.viewOf(st), r.Report()
	cells, isKnown := r.cellsBehind(v)
	isCoarse := !isKnown || r.isFlux(st)
	if isCoarse {
		clear(cells)
	}
	for _, x := range v.rings {
		if x.lacks == "" && x.groups == nil && slices.Max(x.places) == 0 {
			continue // all at the newest
		}
		for _, part := range partsOf(st, x.policy.Scope) {
			if x.lacks != "" {
				out = append(out, hold.Hold{Reason: hold.Ring, Hub: v.hub, Group: part.group, Component: part.component, Detail: x.lacks})
			}
			for _, m := range v.roster.Members {
				if isCoarse || x.groups == nil && followsRings(x.policy, m, part.group) {
					cells[cell{m.Name, part.group, part.component}] = true
				}
			}
		}
	}
	like := map[[2]int]hold.Hold{} // by policy and ring
	for c := range cells {
		policy, ring, place := v.ringOver(c)
		if place == 0 {
			continue
		}
		h, known := like[[2]int{policy, ring}]
		if !known {
			h = hold.Hold{Reason: hold.Ring, Hub: v.hub}
			h.Detail, h.Until = report.says(v.rings[policy].policy.Name, ring)
			like[[2]int{policy, ring}] = h
		}
		h.Cluster, h.Group, h.Component, h.Revision = c.cluster, c.group, c.component, v.revision(place)
		if i, is := v.roster.Index(c.cluster); is {
			h.Tenant = v.roster.Members[i].Tenant
		}
		out = append(out, h)
	}
	return out
}

// says returns what a ring waits for, and until when at least. An agent has one ring.
func (r Report) says(policy string, ring int) (string, time.Time) {
	for _, one := range r.Rollouts {
		if one.Name != policy || len(one.Rings) == 0 {
			continue
		}
		of := one.Rings[min(max(ring, 0), len(one.Rings)-1)]
		text, until := of.Text, time.Time{}
		if of.Wait != nil {
			wait := *of.Wait
			until, wait.Since, wait.Earliest = wait.Earliest, time.Time{}, time.Time{}
			text = wait.String()
		}
		return fmt.Sprintf("rollout %s, ring %s: %s", policy, of.Name, cmp.Or(text, "it has not taken the newest revision yet")), until
	}
	return "rollout " + policy, time.Time{}
}

// partsOf returns the groups of a state and the components that a scope is about.
func partsOf(st *fleetstate.State, s rollout.Scope) (out []cell) {
	for _, group := range st.Groups() {
		if s.Covers(group, "") {
			out = append(out, cell{group: group})
		}
	}
	for _, name := range s.Components {
		group, component, _ := strings.Cut(name, "/")
		out = append(out, cell{group: group, component: component})
	}
	return out
}

// ringOver returns the ring that decides about a cell, with its place. The place is 0 for a cell
// that follows the newest revision or is frozen.
func (v *view) ringOver(c cell) (policy, ring, place int) {
	for n, x := range v.rings {
		ring := v.ringOf(n, c.cluster)
		_, isFrozen := v.placeOfFrozen(c.cluster, c.group, c.component)
		if isFrozen || ring == roster.None || !x.policy.Scope.Covers(c.group, c.component) || x.groups != nil && c.cluster != agentOf(v.st) {
			continue
		}
		if place := v.place(lifecycle.Item{Cluster: c.cluster, Group: c.group, Component: c.component}); place > 0 {
			return n, ring, place
		}
	}
	return 0, 0, 0
}

// cellsBehind returns the cells of which a composed response has another row than the newest state.
// It responds to all known queries first: a view is newer than most requests. It reports false
// where nothing was asked for, nor is known to be.
func (r *Rings) cellsBehind(v *view) (map[cell]bool, bool) {
	for _, q := range r.asked(query.Components, query.Members) {
		_, _ = r.Respond(context.Background(), v.st, q) // what lacks its response has a hold of its own
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, pair := range v.behind {
		for _, item := range response.Apart(pair[0], pair[1]) {
			v.cells[cell{item.Cluster, item.Group, item.Component}] = true
		}
		delete(v.behind, key)
	}
	return maps.Clone(v.cells), len(v.composed) > 0
}
