package rings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/roster"
)

// view is what the rings have while a state is served. It never changes: the same bytes each time.
type view struct {
	st    *fleetstate.State
	hub   string
	rings []ringView
	// held are the states of the revisions in rings, but for the newest.
	held []*revision
	at   map[string]int // places by revision

	// isUnread reports that it lacks what a record says that has not been read.
	isUnread bool
	// holds are the manual holds that have not ended, and frozen is what they keep.
	holds  []*fleet.Hold
	frozen frozenView

	roster *roster.Roster
	// hasSameMembers reports that all revisions have the members of the newest, in the same order.
	hasSameMembers bool

	mu       sync.Mutex
	composed map[string]*response.Response // by query
	places   map[placeKey][]int            // by member
	idle     map[[2]int]bool               // by policy and ring, where it has been asked (isIdle)
	// behind are responses of which rings may keep something, with what the newest state answers,
	// until cellsBehind has compared them. cells are what it found.
	behind map[string][2]*response.Response
	cells  map[cell]bool
	// like are the composed responses of the view before, with which these share what stays.
	like         map[string]*response.Response
	hasSameFacts bool

	building sync.Mutex
	artifact flux.Artifact // what an engine with Flux runs, if it has been asked for
}

// placeKey is a group, the component where holds differ by it, and the policies that cover what is
// asked for.
type placeKey struct{ group, component, policies string }

// ringView is a policy with the places of its rings' states: 0 for the newest state, else that in
// held plus one; lost for none.
type ringView struct {
	policy *rollout.Policy
	// isPending reports that the policy's file has another shape, or is gone.
	isPending bool
	places    []int
	// former are the policies of each held state; nil where its policy of this name is the same, or
	// where it has none.
	former [][]*rollout.Policy
	// isBack names the rings, of an agent the groups, whose revision is older than one they had, or
	// that have taken it since the policy is in force.
	isBack map[string]bool
	// groups are the places of an agent's groups; nil on a hub.
	groups map[string]int
	// lacks says why there is no response in the scope; empty if there is one.
	lacks string
}

const lost = -1

// lacksFor says why there is no response about a group; empty if there is one.
func (x ringView) lacksFor(group string) string {
	if place, is := x.groups[group]; x.lacks == "" && is && place == lost {
		return fmt.Sprintf("nobody here has the revision of group %q in rollout %q: it waits for its hub", group, x.policy.Name)
	}
	return x.lacks
}

// concerns reports whether the policy covers anything that a query about a group asks for.
func (x ringView) concerns(q query.Query, group string) bool {
	if q.View == query.Components && q.Component != "" {
		return x.policy.Scope.Covers(group, q.Component)
	}
	return x.policy.Scope.CoversPart(group)
}

// maxViews is how many of the newest states have views: the one that is served, and those before it
// that internal/service/notify may still compare.
const maxViews = 4

// viewOf is the view of a state. It is made once, with what the rings have then.
func (r *Rings) viewOf(st *fleetstate.State) *view {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.viewBy(st)
}

// viewBy is viewOf for a caller that holds the lock.
func (r *Rings) viewBy(st *fleetstate.State) *view {
	for _, v := range r.views {
		if v.st == st {
			return v
		}
	}
	if r.o.State() == st { // what an earlier one does not have stays known
		r.learn(st)
	}
	v := &view{st: st, hub: r.o.Hub, composed: map[string]*response.Response{}, behind: map[string][2]*response.Response{}, cells: map[cell]bool{}, places: map[placeKey][]int{}, idle: map[[2]int]bool{}, at: map[string]int{st.Revision: 0}}
	for _, p := range r.policiesOf(st) {
		ring := ringView{policy: p, places: make([]int, len(p.Rings)), isBack: map[string]bool{}}
		known := r.policies[p.Name]
		if known == nil {
			ring.lacks = fmt.Sprintf("the fleet does not have rollout %q any more", p.Name)
			v.rings = append(v.rings, ring)
			continue
		}
		ring.isPending = known.isPending(newestOf(st, p.Name))
		for name, record := range known.log.Rings {
			ring.isBack[name] = record.IsBack() || known.log.InForce.Precedes(record.Train)
		}
		switch {
		case !known.isRead:
			ring.lacks, v.isUnread = fmt.Sprintf("the records of rollout %q have not been read yet", p.Name), true
		case known.isLost:
			ring.lacks = fmt.Sprintf("the records of rollout %q are lost, and what runs is not revision %s: pin its rings (argosy rollout rollback)", p.Name, st.Revision)
		}
		if agentOf(st) != "" {
			ring.groups = r.followed(v, p, known)
			v.rings = append(v.rings, ring)
			continue
		}
		oldest, isBack := 0, false
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
				oldest, isBack = place, record.IsBack()
			}
		}
		for i, place := range ring.places {
			if place == lost {
				ring.places[i], ring.isBack[p.Rings[i].Name] = oldest, isBack
			}
		}
		v.rings = append(v.rings, ring)
	}
	r.freeze(v)
	r.remember(v)
	return v
}

// remember takes in a new view, with what it shares with the one before. The caller holds the lock.
func (r *Rings) remember(v *view) {
	policies := make([]*rollout.Policy, len(v.rings))
	for n, x := range v.rings {
		policies[n] = x.policy
		v.rings[n].former = formerly(x.policy, v.held)
	}
	v.hasSameMembers = !slices.ContainsFunc(v.held, func(held *revision) bool {
		return !slices.EqualFunc(held.state.Fleet.Members(v.hub), v.st.Fleet.Members(v.hub), func(a, b *fleet.Member) bool { return a == b || a.Name == b.Name })
	})
	members := roster.Served(v.st, v.hub)
	if len(r.views) == 0 {
		v.roster = roster.Of(members, policies, nil)
	} else {
		before := r.views[0]
		v.roster = roster.Of(members, policies, before.roster)
		before.mu.Lock()
		v.hasSameFacts = before.st.Facts().Equal(v.st.Facts())
		if v.like = maps.Clone(before.composed); len(v.like) == 0 { // nobody has asked
			v.like, v.hasSameFacts = before.like, v.hasSameFacts && before.hasSameFacts
		}
		before.mu.Unlock()
	}
	r.views = append([]*view{v}, r.views[:min(len(r.views), maxViews-1)]...)
}

// formerly are the policies of each of some revisions, nil for a revision whose policy of this name
// is the same, and for one that has none.
func formerly(p *rollout.Policy, held []*revision) [][]*rollout.Policy {
	out := make([][]*rollout.Policy, len(held))
	for i, r := range held {
		for _, was := range r.state.Fleet.Rollouts {
			if was.Name == p.Name && !was.Equal(p) {
				out[i] = r.state.Fleet.Rollouts
			}
		}
	}
	return out
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
	files, joined := roster.Join(known.state, st, r.o.Hub, known.unfit)
	if files != known.state.Resolver().Snapshot || !known.state.Facts().Equal(st.Facts()) {
		now, err := fleetstate.Build(known.state, files, st.Facts())
		unfit := joined
		if err == nil {
			unfit = roster.Unfit(now, r.o.Hub, joined)
		}
		if len(unfit) > 0 {
			known.unfit = append(known.unfit, unfit...)
			return r.at(name, st)
		}
		if err != nil {
			r.o.Logger.Error("a ring's revision cannot be computed with the facts of now", "revision", name, "error", err)
			return nil
		}
		known.state, known.hasJoined = now, known.hasJoined || len(joined) > 0
	}
	return &revision{state: known.state, responses: known.responses}
}

// states are those of all places.
func (v *view) states() []*fleetstate.State {
	out := []*fleetstate.State{v.st}
	for _, held := range v.held {
		out = append(out, held.state)
	}
	return out
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
	if v.frozen.groups[group] || v.frozen.lacks != "" {
		return true
	}
	for _, r := range v.rings {
		if !r.policy.Scope.CoversPart(group) {
			continue
		}
		if r.lacksFor(group) != "" || r.groups[group] > 0 {
			return true
		}
		if slices.Max(r.places) > 0 {
			return true
		}
	}
	return false
}

// keepsAnything reports whether anything of a state may be served from an earlier revision.
func (r *Rings) keepsAnything(st *fleetstate.State) bool {
	return r.HasPolicies(st) || r.keepsCells(st)
}

// hasView reports whether a view of a state is remembered. An earlier state keeps its view after a
// policy or a hold has ended, so that its responses can be compared with those of now.
func (r *Rings) hasView(st *fleetstate.State) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.views, func(v *view) bool { return v.st == st })
}

// IsStarting reports whether responses of the first states wait for records that are being read.
// Where the store is away, other responses do not wait for it.
func (r *Rings) IsStarting(st *fleetstate.State) bool {
	if !r.hasStarted.Load() && r.keepsAnything(st) && r.viewOf(st).isUnread {
		return true
	}
	r.hasStarted.Store(true)
	return false
}

// keepsCells reports whether a hold may keep a cell of a state.
func (r *Rings) keepsCells(st *fleetstate.State) bool {
	return len(st.Fleet.Holds) > 0 || len(st.HeldMembers(r.o.Hub)) > 0 || len(r.o.Kept(st)) > 0
}

// Respond returns the response to a query in which later rings keep what their revisions answer.
// What stays as it was is shared with the responses of the state before, however many of these are
// remembered. The error is a *problem.QueryError, or that of the context.
func (r *Rings) Respond(ctx context.Context, st *fleetstate.State, q query.Query) (*response.Response, error) {
	if q.Hub != r.o.Hub || st.OwnerName(q.Hub, q.Owner) != engineOf(st) || !r.hasView(st) && !r.keepsAnything(st) {
		return r.o.Responses.Get(ctx, st, q)
	}
	v := r.viewOf(st)
	key, err := keyOf(q)
	if err != nil {
		return nil, err
	}
	if out := v.remembered(key); out != nil {
		return out, nil
	}
	var desired *response.Response
	switch like := v.like[key]; {
	case like == nil:
		desired, err = r.o.Responses.Get(ctx, st, q)
	case v.hasSameFacts:
		desired, err = r.o.Responses.GetLike(ctx, st, q, like)
	default:
		desired, err = r.o.Responses.GetTwin(ctx, st, q, like)
	}
	if err != nil {
		return nil, err
	}
	return v.compose(ctx, q, key, desired)
}

// compose is Respond of what the newest state answers.
func (v *view) compose(ctx context.Context, q query.Query, key string, desired *response.Response) (*response.Response, error) {
	if q.View == query.Grants {
		return v.grants(key, desired)
	}
	group, isOne := q.Group, true
	switch q.View {
	case query.Components, query.Releases:
	case query.Members:
		group = fleetstate.FleetGroup
	default:
		isOne = false
	}
	if !isOne || !v.isHeld(group) {
		return desired, nil
	}
	for _, x := range v.rings {
		if why := x.lacksFor(group); why != "" && x.concerns(q, group) {
			return nil, &problem.QueryError{Kind: problem.KindUnavailable, Message: why}
		}
	}
	if v.frozen.lacks != "" {
		return nil, &problem.QueryError{Kind: problem.KindUnavailable, Message: v.frozen.lacks}
	}
	others, err := v.responses(ctx, q, desired)
	if err != nil {
		return nil, err
	}
	var out *response.Response
	if q.View == query.Releases {
		out = desired.MergeReleases(others)
	} else {
		out = desired.Merge(response.Merging{Others: others, Pick: v.picker(), Places: v.placesFor(q, group), Like: v.like[key], Holds: v.frozen.note(group, q.Component)})
	}
	v.remember(key, out)
	if out != desired && q.View != query.Releases {
		v.mu.Lock()
		v.behind[key] = [2]*response.Response{desired, out}
		v.mu.Unlock()
	}
	return out, nil
}

// keyOf is the same text for queries that have the same response.
func keyOf(q query.Query) (string, error) {
	if q.View != query.Components || q.Release == "" {
		q.ApplicationSet = "" // makes no difference
	}
	text, err := json.Marshal(q)
	if err != nil {
		return "", &problem.QueryError{Kind: problem.KindBadRequest, Message: err.Error()}
	}
	return string(text), nil
}

// remembered is the composed response to a query, nil if there is none yet.
func (v *view) remembered(key string) *response.Response {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.composed[key]
}

func (v *view) remember(key string, out *response.Response) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.composed[key] = out
}

// grants is the response of view grants, with the revisions that agents follow.
func (v *view) grants(key string, desired *response.Response) (*response.Response, error) {
	if !v.hasAgents() || agentOf(v.st) != "" {
		return desired, nil
	}
	for _, x := range v.rings {
		if x.policy.Agents && x.lacks != "" {
			return nil, &problem.QueryError{Kind: problem.KindUnavailable, Message: x.lacks}
		}
	}
	out := v.announce(desired)
	v.remember(key, out)
	return out, nil
}

// isUnknown reports whether a state knows nothing of what is asked for: an ApplicationSet may be
// left over.
func isUnknown(err error) bool {
	var failure *problem.QueryError
	return errors.As(err, &failure) && failure.Kind == problem.KindBadRequest
}

// responses are those of the held revisions. A revision that does not know what is asked for has
// nothing of it.
func (v *view) responses(ctx context.Context, q query.Query, desired *response.Response) ([]*response.Response, error) {
	out := make([]*response.Response, len(v.held))
	for i, held := range v.held {
		resp, err := desired.None(held.state), error(nil)
		if !held.isAbsent {
			resp, err = held.responses.GetLike(ctx, held.state, q, desired)
		}
		if isUnknown(err) {
			resp, err = desired.None(held.state), nil
		}
		if err != nil {
			return nil, err
		}
		if out[i] = resp; held.hold != "" {
			out[i] = resp.WithHold(held.hold)
		}
	}
	return out, nil
}
