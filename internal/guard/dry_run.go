package guard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/resolve/query"

	"github.com/argosy-hub/argosy/internal/response"
)

// Verdict is what the guard would decide about a response.
type Verdict string

// The verdicts. A response without one would be given.
const (
	// OverBudget responses would lose more than the budget allows.
	OverBudget Verdict = "removal-budget"
	// Pending responses could not give up what moves: the new owner has no response (rule 11).
	Pending Verdict = "handover"
	// Broken responses are refused by the state itself: something that they are made of is invalid.
	Broken Verdict = "broken"
	// Unknown responses have nothing to be compared with.
	Unknown Verdict = "unknown"
)

// Decision is what a service that has given one state's response to a query would do with another
// state's, or what it would find about that state as a whole.
type Decision struct {
	Hub, Owner                string
	View                      query.View
	Group, Component, Release string
	// Tenant is set if the service would hold it: its members keep their last known good snapshots,
	// and no response is refused. Unapproved is what they would lose.
	Tenant string
	// Verdict is empty if the response would be given. Message is why it would not.
	Verdict Verdict
	Message string
	// Members have something in the first state, Losing of them would lose something without
	// approval, and Allowed may.
	Members, Losing, Allowed int
	// Unapproved is what would be lost without approval, and Approved what with one.
	Unapproved, Approved []lifecycle.Removal
}

// IsOfCommit reports whether the decision is about all that the second state takes from a hub's
// members, which is held as it is served, and not about one response.
func (d Decision) IsOfCommit() bool { return d.View == "" }

// IsOverBudget reports whether the response would be refused, or the commit's removals be held.
func (d Decision) IsOverBudget() bool { return d.Verdict == OverBudget }

// DryRun judges the responses of a state by those of the state before it, for each query that
// ApplicationSets like the fleet's own have. It returns the decisions about what is held of a hub
// as a whole, and about responses that lose something else or would not be given. They are sorted
// by hub, owner, view, group, component and release. The baseline is always the state before.
func DryRun(before, after *fleetstate.State, now time.Time) []Decision {
	var out []Decision
	var holds []fleetstate.Hold
	baseline := map[string]*holdings{}
	for _, hub := range before.Fleet.Hubs() {
		baseline[hub] = holdingsOf(before, hub, nil)
		for pattern := range baseline[hub].terms.Patterns {
			baseline[hub].terms.Patterns[pattern] = "a commit before"
		}
		c := judgeCommit(after, before, hub, baseline[hub], nil, nil, now)
		held := c.holds(after, before, hub)
		holds = append(holds, held...)
		out = append(out, c.decisions(hub, held)...)
	}
	after = after.Hold(before, holds) // as a service serves it
	x := dryRun{before, after, now, map[wideQuery]*contentIndex{}, map[string]*commit{}}
	for _, hub := range before.Fleet.Hubs() {
		x.commits[hub] = judgeCommit(after, nil, hub, baseline[hub], nil, nil, now)
		for _, owner := range owners(before.Fleet, hub) {
			for _, q := range x.queries(hub, owner) {
				if d := x.decide(owner, q); d.Verdict != "" || len(d.Unapproved)+len(d.Approved) > 0 {
					out = append(out, d)
				}
			}
		}
	}
	return out
}

// decisions returns why a commit's removals, or those of a tenant, are held.
func (c *commit) decisions(hub string, held []fleetstate.Hold) []Decision {
	texts := map[string][]lifecycle.Removal{}
	for _, r := range c.kept {
		texts[r.why] = append(texts[r.why], r.Removal)
	}
	var out []Decision
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		d := Decision{
			Hub: hub, Owner: fleet.OwnerHub, Verdict: OverBudget, Message: text,
			Members: c.members, Losing: c.losing, Allowed: c.allowed, Unapproved: texts[text],
		}
		if i := slices.IndexFunc(held, func(h fleetstate.Hold) bool { return h.Message == text }); i >= 0 {
			all, losing := c.byTenant(clustersOf(texts[text]))
			d.Tenant = held[i].Tenant
			d.Members, d.Losing, d.Allowed = all[d.Tenant], losing[d.Tenant], c.terms.budget(all[d.Tenant])
		}
		out = append(out, d)
	}
	return out
}

// decide judges the response to one query.
func (x dryRun) decide(owner string, q dryQuery) Decision {
	r := q.query
	d := Decision{Hub: r.Hub, Owner: owner, View: r.View, Group: r.Group, Component: r.Component, Release: r.Release}
	found, verdict, err := x.loss(q)
	switch {
	case err != nil:
		d.Verdict, d.Message = verdict, problem.Truncate(err.Error(), maxReason)
	case found.isRefused():
		d.Verdict, d.Message = OverBudget, found.summary(r)
	default:
		if d.Message = x.commits[r.Hub].refusal(found); d.Message != "" {
			d.Verdict = OverBudget
		} else if d.Message = x.handover(q, found.moves); d.Message != "" {
			d.Verdict = Pending
		}
	}
	d.Members, d.Losing, d.Allowed = found.members, found.losing, found.allowed
	d.Unapproved, d.Approved = found.unapproved, found.approved
	return d
}

// dryRun is the work of DryRun.
type dryRun struct {
	before, after *fleetstate.State
	now           time.Time
	// indexes hold what the responses to wide queries contain. Each response is made once, and is
	// much larger.
	indexes map[wideQuery]*contentIndex
	// commits are the judgements of the second state, by hub.
	commits map[string]*commit
}

// wideQuery is one whose response contains those to others.
type wideQuery struct {
	st                *fleetstate.State
	view              query.View
	hub, group, owner string
}

// contentIndex is what a response contains, in whole and by component and release.
type contentIndex struct {
	all         []lifecycle.Item
	byComponent map[[2]string][]lifecycle.Item
	err         error
}

func (x dryRun) index(st *fleetstate.State, r query.Query) *contentIndex {
	key := wideQuery{st, r.View, r.Hub, r.Group, r.Owner}
	if found := x.indexes[key]; found != nil {
		return found
	}
	if r.View != query.Components && r.View != query.Members {
		items, err := response.Items(st, r)
		x.indexes[key] = newContentIndex(response.Contents{Items: items, Err: err})
		return x.indexes[key]
	}
	was, is, equal := response.ItemsOfBoth(x.before, x.after, r) // what one state is asked, the other is, too
	ofBefore, ofAfter := key, key
	ofBefore.st, ofAfter.st = x.before, x.after
	x.indexes[ofBefore] = newContentIndex(was)
	if x.indexes[ofAfter] = x.indexes[ofBefore]; !equal {
		x.indexes[ofAfter] = newContentIndex(is)
	}
	return x.indexes[key]
}

func newContentIndex(c response.Contents) *contentIndex {
	out := &contentIndex{all: c.Items, byComponent: map[[2]string][]lifecycle.Item{}, err: c.Err}
	sizes := map[[2]string]int{}
	for _, i := range c.Items {
		sizes[[2]string{i.Component, i.Release}]++
	}
	for _, i := range c.Items {
		k := [2]string{i.Component, i.Release}
		if out.byComponent[k] == nil {
			out.byComponent[k] = make([]lifecycle.Item, 0, sizes[k])
		}
		out.byComponent[k] = append(out.byComponent[k], i)
	}
	return out
}

// dryQuery is a query, and the wide one whose response contains its own: a component that no
// catalog has any more cannot be queried without the base that its ApplicationSet sends.
type dryQuery struct{ query, wide query.Query }

// baseline returns the query whose response says what there is to lose: of a release, what members
// have of it (rule 7).
func (q dryQuery) baseline() dryQuery {
	if q.query.View == query.Releases {
		q.wide.View = query.Components
	}
	return q
}

// items returns what the response to a query contains, nothing if the query has become invalid.
func (x dryRun) items(st *fleetstate.State, q dryQuery) ([]lifecycle.Item, error) {
	i := x.index(st, q.wide)
	switch {
	case i.err != nil && isBadRequest(i.err):
		return nil, nil
	case i.err != nil || q.query.Component == "":
		return i.all, i.err
	}
	return i.byComponent[[2]string{q.query.Component, q.query.Release}], nil
}

// loss finds what the response to a query loses. The error is that of the state without a response,
// which the verdict names.
func (x dryRun) loss(q dryQuery) (loss, Verdict, error) {
	now, err := x.items(x.after, q)
	if err != nil {
		return loss{}, Broken, err
	}
	before, err := x.items(x.before, q.baseline())
	if err != nil {
		return loss{}, Unknown, fmt.Errorf("the base has no answer to compare with: %w", err)
	}
	removals := lifecycle.Diff(x.after, q.query, before, now)
	if len(removals) == 0 {
		return loss{}, "", nil // nearly always
	}
	whole := x.commits[q.query.Hub]
	if q.query.View != query.Agents && q.query.View != query.Grants { // of these, nothing is held
		removals = slices.DeleteFunc(removals, func(r lifecycle.Removal) bool { return whole.refused[keyOfRemoval(r)] })
	}
	found := whole.lossOf(x.after.Fleet, q.query.Hub, removals, x.now)
	return found.count(before, whole.terms.budget), "", nil
}

// handover returns why a response could not give up what moves, "" if it could. Like
// Guard.handover, it leaves out what moves to another hub.
func (x dryRun) handover(q dryQuery, moves []lifecycle.Removal) string {
	seen := map[queryKey]bool{keyOf(q.query, forArgoCD): true}
	for _, to := range destinations(moves) {
		if err := x.unanswered(q.query.Hub, to, seen); err != nil {
			return pendingMessage(q.query, moves, to, err)
		}
	}
	return ""
}

func (x dryRun) unanswered(hub string, to destination, seen map[queryKey]bool) error {
	if m := x.after.Fleet.Member(hub, to.Owner); m != nil && m.Remote && m.Engine == fleet.EngineFlux {
		_, err := flux.OwnedBy(x.after, hub, to.Owner)
		return err
	}
	wide := query.Query{View: query.Components, Hub: hub, Group: to.group, Owner: to.Owner}
	r := wide
	r.Component, r.Release = to.component, to.Release
	q := keyOf(r, forArgoCD)
	if seen[q] {
		return nil
	}
	seen[q] = true
	releases := query.Query{View: query.Releases, Hub: hub, Group: to.group, Owner: to.Owner}
	if err := x.index(x.after, releases).err; err != nil && !isBadRequest(err) {
		return err
	}
	found, verdict, err := x.loss(dryQuery{r, wide})
	switch {
	case verdict == Broken:
		return err
	case err == nil && found.isOverBudget():
		return errors.New(budgetMessage(found.summary(r)))
	case err == nil:
		if text := x.commits[hub].refusal(found); text != "" {
			return errors.New(budgetMessage(text))
		}
	}
	for _, further := range destinations(found.moves) {
		if err := x.unanswered(hub, further, seen); err != nil {
			return err
		}
	}
	return nil
}

func isBadRequest(err error) bool {
	var refused *problem.QueryError
	return errors.As(err, &refused) && refused.Kind == problem.KindBadRequest
}

// owners returns the hub and its agents with Argo CD: whose ApplicationSets query the service.
func owners(f *fleet.Fleet, hub string) []string {
	out := []string{fleet.OwnerHub}
	for _, m := range f.Members(hub) {
		if m.Remote && m.Engine == fleet.EngineArgoCD && m.Lifecycle != fleet.Retired {
			out = append(out, m.Name)
		}
	}
	return out
}

// queries returns those of an owner's ApplicationSets.
func (x dryRun) queries(hub, owner string) []dryQuery {
	var out []dryQuery
	if owner == fleet.OwnerHub {
		for _, v := range []query.View{query.Agents, query.Grants, query.Members} {
			r := query.Query{View: v, Hub: hub}
			out = append(out, dryQuery{r, r})
		}
	}
	groups := x.before.Fleet.Layout.GroupNames()
	if owner != fleet.OwnerHub || x.before.HubEngine(hub) == fleet.EngineArgoCD { // Flux has no releases
		for _, group := range groups {
			r := query.Query{View: query.Releases, Hub: hub, Group: group, Owner: owner}
			out = append(out, dryQuery{r, r})
		}
	}
	for _, group := range groups {
		wide := query.Query{View: query.Components, Hub: hub, Group: group, Owner: owner}
		i := x.index(x.before, wide)
		if i.err != nil {
			i = x.index(x.after, wide)
		}
		if i.err != nil {
			out = append(out, dryQuery{wide, wide}) // neither state knows the components
			continue
		}
		for _, key := range slices.SortedFunc(maps.Keys(i.byComponent), func(a, b [2]string) int {
			return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
		}) {
			r := wide
			r.Component, r.Release = key[0], key[1]
			out = append(out, dryQuery{r, wide})
		}
	}
	return out
}
