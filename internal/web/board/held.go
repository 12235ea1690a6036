package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/service/access"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/order"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// The kinds of holds, in the order of a Held.
const (
	HeldSource      = "source"
	HeldCommit      = "commit"
	HeldFacts       = "facts"
	HeldMount       = "mount"
	HeldRemoval     = "refused-removal"
	HeldHandover    = "pending-hand-over"
	HeldDependency  = "waiting"
	maxHeldClusters = 50
)

var heldKinds = []string{HeldSource, HeldCommit, HeldFacts, HeldMount, overview.HeldTenant, HeldRemoval, overview.HeldQuarantine, HeldHandover, HeldDependency, overview.HeldDraining}

// Held lists all that does not follow the newest commit, and what frees it.
type Held struct {
	Back []HeldBack `json:"heldBack"`
	// Counts is how many there are of each kind; Back has at most 500.
	Counts []HeldCount `json:"counts"`
	Total  int         `json:"total"`
}

// HeldCount counts one kind.
type HeldCount struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// HeldBack is one hold.
type HeldBack struct {
	Kind   string `json:"kind"`
	Hub    string `json:"hub,omitempty"`
	Tenant string `json:"tenant,omitempty"`
	// Clusters are the first of the affected members.
	Clusters []string `json:"clusters,omitempty"`
	// Component is group/component, or a group.
	Component string `json:"component,omitempty"`
	// Since is when the service first saw it; absent where that is unknown.
	Since *time.Time `json:"since,omitempty"`
	// Keeps is the revision that is served instead.
	Keeps string `json:"keeps,omitempty"`
	// Problem says what is wrong, and Position where.
	Problem  string      `json:"problem"`
	Position problem.Pos `json:"position,omitzero"`
	// Frees says what ends it.
	Frees string `json:"frees"`
}

// maxHeld bounds the list.
const maxHeld = 500

// Held lists the holds of the clusters that a scope sees. Complete scopes also see the texts of the
// repository as a whole.
func (x Reader) Held(status refresh.Status, refused []guard.RefusedRemoval, waits func(*fleetstate.State) []order.Wait) Held {
	h := heldList{Reader: x, since: map[fleetstate.ID]time.Time{}}
	for _, q := range status.Quarantined {
		h.since[fleetstate.ID{Hub: q.Hub, Name: q.Member}] = q.Since
	}
	for _, refusal := range status.Refused {
		h.refusal(refusal)
	}
	for _, m := range status.Mounts {
		h.mount(m)
	}
	for _, hold := range x.State.Holds("") {
		h.tenant(hold)
	}
	for _, removal := range refused {
		h.removal(removal)
	}
	for _, q := range x.State.Quarantined("") {
		h.quarantine(q)
	}
	for _, w := range waits(x.State) {
		h.dependency(w)
	}
	for _, c := range x.State.Clusters() {
		if access.Visible(x.Scope, c) {
			h.handover(c)
			h.draining(c)
		}
	}
	return h.result()
}

type heldList struct {
	Reader
	since map[fleetstate.ID]time.Time
	out   []HeldBack
}

func (h *heldList) result() Held {
	out := Held{Back: []HeldBack{}, Counts: []HeldCount{}, Total: len(h.out)}
	slices.SortStableFunc(h.out, func(a, b HeldBack) int {
		return cmp.Or(cmp.Compare(slices.Index(heldKinds, a.Kind), slices.Index(heldKinds, b.Kind)),
			strings.Compare(a.Hub, b.Hub), strings.Compare(a.Tenant, b.Tenant), slices.Compare(a.Clusters, b.Clusters), strings.Compare(a.Component, b.Component))
	})
	for _, kind := range heldKinds {
		n := 0
		for _, b := range h.out {
			if b.Kind == kind {
				n++
			}
		}
		if n > 0 {
			out.Counts = append(out.Counts, HeldCount{kind, n})
		}
	}
	out.Back = append(out.Back, h.out[:min(len(h.out), maxHeld)]...)
	return out
}

// refusal adds a refusal that concerns the repository or the facts as a whole.
func (h *heldList) refusal(r refresh.Refusal) {
	b := HeldBack{Kind: string(r.Cause), Since: overview.Known(r.Since), Problem: r.Problem, Keeps: h.State.Revision}
	switch r.Cause {
	case refresh.Source:
		b.Frees = "the service can read the repository again; the last good revision is served until then"
	case refresh.Commit:
		b.Frees = "a commit that fixes the problem, or reverts " + overview.Short(r.Revision)
	default:
		b.Frees = "the facts can be read again; the last ones are used until then"
	}
	if !h.Scope.SeesEverything() {
		b.Problem = access.Withheld
	}
	h.out = append(h.out, b)
}

// mount adds a mounted repository whose newest commit is not served.
func (h *heldList) mount(m refresh.Mount) {
	if !m.IsStale() {
		return
	}
	b := HeldBack{
		Kind: HeldMount, Since: overview.Known(m.Since), Problem: access.Withheld,
		Frees: "the repository can be read again, or a commit there fixes the problem",
	}
	if h.Scope.SeesEverything() {
		b.Problem, b.Keeps = m.Path+" ("+m.Repository+"): "+m.Problem, m.Revision
	}
	h.out = append(h.out, b)
}

// names returns the visible ones of some members.
func (h *heldList) names(hub string, members []string) (out []string, first *fleetstate.Cluster) {
	for _, name := range members {
		c := h.State.Cluster(hub, name)
		if c == nil || !access.Visible(h.Scope, c) {
			continue
		}
		if first == nil {
			first = c
		}
		if len(out) < maxHeldClusters && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, first
}

func (h *heldList) tenant(hold fleetstate.Hold) {
	names, first := h.names(hold.Hub, hold.Members)
	if first == nil {
		return
	}
	h.out = append(h.out, HeldBack{
		Kind: overview.HeldTenant, Hub: hold.Hub, Tenant: hold.Tenant, Clusters: names, Since: overview.Known(h.since[fleetstate.ID{Hub: hold.Hub, Name: names[0]}]),
		Keeps: h.State.ResolverOf(first).Snapshot.Revision, Problem: access.Text(h.State, h.Scope, hold.Message), Frees: h.approval(),
	})
}

// approval says how removals are approved.
func (h *heldList) approval() string {
	return "a file of kind " + fleet.ApprovalKind + " in " + h.State.Fleet.Layout.Guard.Approvals + ", or a commit that brings back what is removed"
}

func (h *heldList) removal(r guard.RefusedRemoval) {
	if r.Group != "" && !h.Scope.SeesGroup(r.Group) {
		return
	}
	var members []string
	var at problem.Pos
	for _, l := range r.Removals {
		if c := h.State.Cluster(r.Hub, l.Cluster); c != nil && access.Visible(h.Scope, c) {
			members = append(members, l.Cluster)
			if at.IsZero() {
				at = l.Pos
			}
		}
	}
	if len(members) == 0 && !h.Scope.SeesEverything() {
		return
	}
	names, _ := h.names(r.Hub, members)
	b := HeldBack{
		Kind: HeldRemoval, Hub: r.Hub, Clusters: names, Component: strings.Trim(r.Group+"/"+r.Component, "/"), Since: overview.Known(r.Since),
		Problem: access.Text(h.State, h.Scope, r.Message), Position: at, Frees: h.approval(),
	}
	if r.Pending {
		b.Kind, b.Frees = HeldHandover, "the new owner's response; the old owner keeps what moves until then"
	}
	h.out = append(h.out, b)
}

func (h *heldList) quarantine(q fleetstate.Quarantined) {
	c := h.State.Cluster(q.Hub, q.Name)
	first := q.First()
	if c == nil || !access.Visible(h.Scope, c) || first.Reason == problem.RemovalRefused {
		return // a held tenant is listed as a whole
	}
	b := HeldBack{
		Kind: overview.HeldQuarantine, Hub: q.Hub, Tenant: c.Member.Tenant, Clusters: []string{q.Name}, Since: overview.Known(h.since[q.ID]), Keeps: q.Revision,
		Problem: access.Text(h.State, h.Scope, string(first.Reason)+": "+first.Message()), Position: first.Pos, Frees: "a commit that fixes this place",
	}
	if n := len(q.Problems) - 1; n > 0 {
		b.Problem += fmt.Sprintf(" (and %d more)", n)
	}
	h.out = append(h.out, b)
}

// handover adds a group whose owner in Git may not have it yet.
func (h *heldList) handover(c *fleetstate.Cluster) {
	if len(c.BlockingProblems()) > 0 || c.IsRetired() || !c.Member.Remote || !h.State.KnowsApplications() {
		return
	}
	for _, group := range h.State.Fleet.Layout.GroupNames() {
		if !h.Scope.SeesGroup(group) {
			continue
		}
		b := HeldBack{
			Kind: HeldHandover, Hub: c.Member.Hub, Tenant: c.Member.Tenant, Clusters: []string{c.Member.Name}, Component: group,
			Position: c.Member.KeyPos("enable_remote_" + group),
		}
		switch owner := c.Member.Owner(group); {
		case owner == fleet.OwnerHub && !lifecycle.MayDeploy(h.State, c, group, owner):
			b.Problem, b.Frees = "the hub owns the group, and the member's engine still holds its grant", "the member's engine gives up its Applications of the group"
		case owner != fleet.OwnerHub && lifecycle.HubDeploys(h.State, c, group):
			b.Problem, b.Frees = "the member's engine owns the group, and the hub still has Applications of it", "Argo CD of the hub removes its Applications of the group; their workloads stay"
		default:
			continue
		}
		h.out = append(h.out, b)
	}
}

// dependency adds a component that waits for another one.
func (h *heldList) dependency(w order.Wait) {
	c := h.State.Cluster(w.Hub, w.Cluster)
	if c == nil || !access.Visible(h.Scope, c) || !h.Scope.SeesGroup(w.Group) {
		return
	}
	b := HeldBack{
		Kind: HeldDependency, Hub: w.Hub, Tenant: c.Member.Tenant, Clusters: []string{w.Cluster}, Component: w.Group + "/" + w.Component,
		Problem: "waits for " + w.For + ": " + w.Reason, Frees: w.For + " is healthy on the cluster with what the newest commit says",
	}
	if w.Removal {
		b.Frees = w.For + " is removed from the cluster"
	}
	h.out = append(h.out, b)
}

func (h *heldList) draining(c *fleetstate.Cluster) {
	now := c.Desired().Member
	if c.LastKnownGood == nil || now.Lifecycle != fleet.Draining {
		return
	}
	h.out = append(h.out, HeldBack{
		Kind: overview.HeldDraining, Hub: now.Hub, Tenant: c.Member.Tenant, Clusters: []string{now.Name}, Keeps: c.LastKnownGood.Snapshot.Revision,
		Problem: "the member keeps its workloads and takes no changes", Position: now.KeyPos("lifecycle"), Frees: "lifecycle: active, or retired",
	})
}
