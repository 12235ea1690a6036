package rings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/flux"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/queryerr"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/rollout"
)

// view is what the rings have while a state is served. It never changes: the same bytes each time.
type view struct {
	st    *fleetstate.State
	hub   string
	rings []ringView
	// held are the states of the revisions in rings, but for the newest.
	held []*revision
	at   map[string]int // places by revision

	roster *roster
	// change is what differs from the view before, and like are its merged responses by query.
	change *change
	like   map[string]*response.Merged

	mu       sync.Mutex
	composed map[composedKey]*response.Response
	merged   map[string]*response.Merged

	building sync.Mutex
	artifact flux.Artifact // what an engine with Flux runs, if it has been asked for
}

// composedKey is a desired response; the same query has the same one.
type composedKey struct {
	desired *response.Response
	view    query.View
}

// ringView is a policy with the places of its rings' states: 0 for the newest state, else that in
// held plus one; lost for none.
type ringView struct {
	policy *rollout.Policy
	places []int
	// draining are the places of members that drain: they keep what they had.
	draining map[string]int
	// groups are the places of an agent's groups; nil on a hub.
	groups map[string]int
	// lacks says why there is no response in the scope; empty if there is one.
	lacks string
}

const lost = -1

// maxViews is how many of the newest states have views: all that internal/appsets may still
// compare.
const maxViews = 10

// viewOf is the view of a state. It is made once, with what the rings have then.
func (r *Rings) viewOf(st *fleetstate.State) *view {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.views {
		if v.st == st {
			return v
		}
	}
	r.learn(st)
	v := &view{st: st, hub: r.o.Hub, composed: map[composedKey]*response.Response{}, merged: map[string]*response.Merged{}, at: map[string]int{st.Revision: 0}}
	for _, p := range st.Fleet.Rollouts {
		known := r.policies[p.Name]
		if known == nil { // it takes no part here
			continue
		}
		ring := ringView{policy: p, places: make([]int, len(p.Rings)), draining: map[string]int{}}
		switch {
		case !known.isRead:
			ring.lacks = fmt.Sprintf("the records of rollout %q have not been read yet", p.Name)
		case known.isLost:
			ring.lacks = fmt.Sprintf("the records of rollout %q are lost, and what runs is not revision %s: pin its rings (argosy rollout rollback)", p.Name, st.Revision)
		}
		if agentOf(st) != "" {
			ring.groups = r.followed(v, known)
			if ring.lacks == "" && slices.Contains(slices.Collect(maps.Values(ring.groups)), lost) {
				ring.lacks = fmt.Sprintf("nobody has the files of the revisions any more that this agent has in rollout %q: it waits for its hub", p.Name)
			}
			v.rings = append(v.rings, ring)
			continue
		}
		oldest := 0
		for i, x := range p.Rings {
			record, ok := known.log.Rings[x.Name]
			if !ok || record.Train.Number == 0 { // a ring of this commit, or one whose record is lost
				ring.places[i] = lost
				if ok {
					ring.lacks = fmt.Sprintf("the record of ring %q of rollout %q is lost: pin it (argosy rollout rollback)", x.Name, p.Name)
				}
				continue
			}
			place := r.place(v, record.Train.Revision)
			if place == lost {
				ring.lacks = fmt.Sprintf("nobody has the files of revision %s any more, which ring %q of rollout %q has", record.Train.Revision, x.Name, p.Name)
				continue
			}
			if ring.places[i] = place; place > 0 {
				oldest = place
			}
		}
		for i, place := range ring.places {
			if place == lost {
				ring.places[i] = oldest
			}
		}
		for _, cluster := range slices.Sorted(maps.Keys(known.log.Draining)) {
			if place := r.place(v, known.log.Draining[cluster]); place != lost {
				ring.draining[cluster] = place
			}
		}
		v.rings = append(v.rings, ring)
	}
	r.remember(v)
	return v
}

// remember takes in a new view, with what it shares with the one before. That of the served state
// stays, so that its responses stay what they are (G6), and so do the newest: internal/appsets
// compares each state with the one before, by what the rings had then. The caller holds the lock.
func (r *Rings) remember(v *view) {
	policies := make([]*rollout.Policy, len(v.rings))
	for n, x := range v.rings {
		policies[n] = x.policy
	}
	var before *view
	if len(r.views) > 0 {
		before = r.views[0]
		v.roster = rosterOf(v.st.Fleet.Members(v.hub), policies, before.roster)
		before.mu.Lock()
		v.change, v.like = v.changeSince(before), maps.Clone(before.merged)
		before.mu.Unlock()
	} else {
		v.roster = rosterOf(v.st.Fleet.Members(v.hub), policies, nil)
	}
	served := r.o.State()
	kept := []*view{v}
	for i, old := range r.views {
		if i < maxViews-1 || old.st == served {
			kept = append(kept, old)
		}
	}
	r.views = kept
}

// place is the place of a revision in a view, which takes it in; lost if nobody has its files. The
// caller holds the lock.
func (r *Rings) place(v *view, name string) int {
	place, known := v.at[name]
	if known {
		return place
	}
	held := r.at(name, v.st)
	if held == nil {
		return lost
	}
	v.held = append(v.held, held)
	v.at[name] = len(v.held)
	return len(v.held)
}

// at is a revision with the facts of a state and with the members that have joined since, nil if
// nobody has it. The caller holds the lock.
func (r *Rings) at(name string, st *fleetstate.State) *revision {
	known := r.revisions[name]
	if known == nil {
		return nil
	}
	files := withJoined(known.state, st, r.o.Hub)
	if files != known.state.Resolver().Snapshot || !known.state.Facts().Equal(st.Facts()) {
		now, err := fleetstate.Build(known.state, files, st.Facts())
		if err != nil {
			r.o.Logger.Error("a ring's revision cannot be computed with the facts of now", "revision", name, "error", err)
			return nil
		}
		known.state = now
	}
	return &revision{state: known.state, responses: known.responses}
}

// revision is that of a place.
func (v *view) revision(place int) string {
	if place > 0 {
		return v.held[place-1].state.Revision
	}
	return v.st.Revision
}

// isHeld reports whether any set of a query may come from an earlier revision, or be refused.
func (v *view) isHeld(group string) bool {
	for _, r := range v.rings {
		if !r.policy.Scope.CoversPart(group) {
			continue
		}
		if r.lacks != "" || r.groups[group] > 0 {
			return true
		}
		if slices.Max(r.places) > 0 || len(r.draining) > 0 {
			return true
		}
	}
	return false
}

// place is where a parameter set comes from.
func (v *view) place(i lifecycle.Item) int {
	for n, r := range v.rings {
		if r.policy.Scope.Covers(i.Group, i.Component) {
			if place, covered := v.placeOf(n, i.Cluster, i.Group); covered {
				return place
			}
		}
	}
	return 0
}

// placeOf is the place of a member's ring in a policy; false for a member that it does not cover.
// Who owns a group is decided by the newest state alone, by what it serves of a member that drains
// or is quarantined, so that all engines agree (M1); and a
// member that has moved to another hub leaves this one at once (D4).
func (v *view) placeOf(policy int, cluster, group string) (int, bool) {
	x := v.rings[policy]
	i, isMember := v.roster.index[cluster]
	var ring int
	if isMember {
		ring = v.roster.rings[policy][i]
	} else {
		ring = v.ringOf(policy, cluster)
	}
	if ring == none || !isMember && v.st.MovedCluster(v.hub, cluster) != nil {
		return 0, false
	}
	place := x.places[ring]
	if x.groups != nil {
		place = x.groups[group]
	} else if kept, drains := x.draining[cluster]; drains {
		place = kept
	}
	if place == lost {
		return 0, false
	}
	if place > 0 && isMember {
		then := clusterAt(v.held[place-1].state, v.hub, i, cluster)
		if then == nil || then.Member.Owner(group) != v.st.ClustersOf(v.hub)[i].Member.Owner(group) {
			return 0, then != nil
		}
	}
	return place, true
}

// clusterAt is a cluster of a state, nil if it has none of the name. It is looked for at an index
// first.
func clusterAt(st *fleetstate.State, hub string, i int, name string) *fleetstate.Cluster {
	if members := st.Fleet.Members(hub); i < len(members) && members[i].Name == name {
		return st.ClustersOf(hub)[i]
	}
	return st.Cluster(hub, name)
}

// ringOf is the index of a member's ring.
func (v *view) ringOf(policy int, cluster string) int {
	if i, is := v.roster.index[cluster]; is {
		return v.roster.rings[policy][i]
	}
	for _, held := range v.held { // its file is gone
		if m := held.state.Fleet.Member(v.hub, cluster); m != nil {
			return ringIn(v.rings[policy].policy, m)
		}
	}
	return none
}

// Compose returns the response to a query in which later rings keep what their revisions answer.
// The error is a *queryerr.Error.
func (r *Rings) Compose(st *fleetstate.State, q query.Query, desired *response.Response) (*response.Response, error) {
	if len(st.Fleet.Rollouts) == 0 || q.Hub != r.o.Hub || st.OwnerName(q.Hub, q.Owner) != engineOf(st) {
		return desired, nil
	}
	if q.View == query.Grants {
		return r.grants(st, desired)
	}
	group, isOne := q.Group, true
	switch q.View {
	case query.Components, query.Releases:
	case query.Members:
		group = fleetstate.FleetGroup
	default:
		isOne = false
	}
	if !isOne {
		return desired, nil
	}
	v := r.viewOf(st)
	if !v.isHeld(group) {
		return desired, nil
	}
	for _, x := range v.rings {
		if x.lacks != "" && x.policy.Scope.CoversPart(group) {
			return nil, &queryerr.Error{Kind: queryerr.KindUnavailable, Message: x.lacks}
		}
	}
	key := composedKey{desired, q.View}
	v.mu.Lock()
	out := v.composed[key]
	v.mu.Unlock()
	if out != nil {
		return out, nil
	}
	others, err := v.responses(q, desired)
	if err != nil {
		return nil, err
	}
	if q.View == query.Releases {
		out = desired.MergeReleases(others)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.composed[key] = out
		return out, nil
	}
	name, err := json.Marshal(q)
	if err != nil {
		return nil, &queryerr.Error{Kind: queryerr.KindBadRequest, Message: err.Error()}
	}
	var like *response.Merged
	if v.coversAll(q, group) {
		v.mu.Lock()
		like = v.like[string(name)]
		v.mu.Unlock()
	}
	merged := desired.Merge(response.Merging{Others: others, Pick: v.place, Like: like, Stays: v.change.stays})
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.like, string(name))
	v.composed[key], v.merged[string(name)] = merged.Response, merged
	return merged.Response, nil
}

// grants is the response of view grants, with the revisions that agents follow.
func (r *Rings) grants(st *fleetstate.State, desired *response.Response) (*response.Response, error) {
	if !slices.ContainsFunc(st.Fleet.Rollouts, func(p *rollout.Policy) bool { return p.Agents }) || agentOf(st) != "" {
		return desired, nil
	}
	v := r.viewOf(st)
	for _, x := range v.rings {
		if x.policy.Agents && x.lacks != "" {
			return nil, &queryerr.Error{Kind: queryerr.KindUnavailable, Message: x.lacks}
		}
	}
	key := composedKey{desired, query.Grants}
	v.mu.Lock()
	out := v.composed[key]
	v.mu.Unlock()
	if out == nil {
		out = v.announce(desired)
		v.mu.Lock()
		v.composed[key] = out
		v.mu.Unlock()
	}
	return out, nil
}

// isUnknown reports whether a state knows nothing of what is asked for: an ApplicationSet may be
// left over.
func isUnknown(err error) bool {
	var failure *queryerr.Error
	return errors.As(err, &failure) && failure.Kind == queryerr.KindBadRequest
}

// responses are those of the held revisions. A revision that does not know what is asked for has
// nothing of it.
func (v *view) responses(q query.Query, desired *response.Response) ([]*response.Response, error) {
	out := make([]*response.Response, len(v.held))
	for i, held := range v.held {
		resp, err := held.responses.GetLike(held.state, q, desired)
		if isUnknown(err) {
			resp, err = desired.None(held.state), nil
		}
		if err != nil {
			return nil, err
		}
		out[i] = resp
	}
	return out, nil
}
