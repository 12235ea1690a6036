package guard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/flux"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/queryerr"
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
// state's.
type Decision struct {
	Hub, Owner                string
	View                      query.View
	Group, Component, Release string
	// Verdict is empty if the response would be given. Message is why it would not.
	Verdict Verdict
	Message string
	// Members have something in the first state, Losing of them would lose something without
	// approval, and Allowed may.
	Members, Losing, Allowed int
	// Unapproved is what would be lost without approval, and Approved what with one.
	Unapproved, Approved []Removal
}

// IsOverBudget reports whether the response would be refused for what it removes.
func (d Decision) IsOverBudget() bool { return d.Verdict == OverBudget }

// DryRun judges the responses of a state by those of the state before it, for each query that
// ApplicationSets like the fleet's own have. It returns the decisions about responses that lose
// something or would not be given, sorted by hub, owner, view, group, component and release. The
// baseline is always the response of the state before.
func DryRun(before, after *fleetstate.State, now time.Time) []Decision {
	x := dryRun{before, after, now, map[wideQuery]*subjectIndex{}}
	var out []Decision
	for _, hub := range before.Fleet.Hubs() {
		for _, owner := range owners(before.Fleet, hub) {
			for _, q := range x.queries(hub, owner) {
				d := Decision{
					Hub: hub, Owner: owner, View: q.query.View,
					Group: q.query.Group, Component: q.query.Component, Release: q.query.Release,
				}
				found, verdict, err := x.removals(q)
				switch {
				case err != nil:
					d.Verdict, d.Message = verdict, problem.Truncate(err.Error(), maxReason)
				case found.areOverBudget():
					d.Verdict, d.Message = OverBudget, found.summary(q.query)
				default:
					if d.Message = x.handover(q, found.moves); d.Message != "" {
						d.Verdict = Pending
					}
				}
				d.Members, d.Losing, d.Allowed = found.members, found.losing, found.allowed
				d.Unapproved, d.Approved = found.unapproved, found.approved
				if d.Verdict != "" || len(d.Unapproved)+len(d.Approved) > 0 {
					out = append(out, d)
				}
			}
		}
	}
	return out
}

// dryRun is the work of DryRun.
type dryRun struct {
	before, after *fleetstate.State
	now           time.Time
	// indexes hold what the responses to wide queries are about. Each response is made once, and is
	// much larger.
	indexes map[wideQuery]*subjectIndex
}

// wideQuery is one whose response contains those to others.
type wideQuery struct {
	st                *fleetstate.State
	view              query.View
	hub, group, owner string
}

// subjectIndex is what a response is about, in whole and by component and release.
type subjectIndex struct {
	all         []response.Subject
	byComponent map[[2]string][]response.Subject
	err         error
}

func (x dryRun) index(st *fleetstate.State, r query.Query) *subjectIndex {
	key := wideQuery{st, r.View, r.Hub, r.Group, r.Owner}
	if x.indexes[key] == nil {
		all, err := response.Subjects(st, r)
		i := &subjectIndex{all: byCluster(all), byComponent: map[[2]string][]response.Subject{}, err: err}
		for _, s := range i.all {
			k := [2]string{s.Component, s.Release}
			i.byComponent[k] = append(i.byComponent[k], s)
		}
		x.indexes[key] = i
	}
	return x.indexes[key]
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

// subjects returns what the response to a query is about, nothing if the query has become invalid.
func (x dryRun) subjects(st *fleetstate.State, q dryQuery) ([]response.Subject, error) {
	i := x.index(st, q.wide)
	switch {
	case i.err != nil && isBadRequest(i.err):
		return nil, nil
	case i.err != nil || q.query.Component == "":
		return i.all, i.err
	}
	return i.byComponent[[2]string{q.query.Component, q.query.Release}], nil
}

// removals finds what the response to a query loses. The error is that of the state without a
// response, which the verdict names.
func (x dryRun) removals(q dryQuery) (removals, Verdict, error) {
	now, err := x.subjects(x.after, q)
	if err != nil {
		return removals{}, Broken, err
	}
	before, err := x.subjects(x.before, q.baseline())
	if err != nil {
		return removals{}, Unknown, fmt.Errorf("the base has no answer to compare with: %w", err)
	}
	c := comparison{
		st: x.after, query: q.query, now: x.now, baseline: itemsOf(before), responses: [][]response.Subject{now},
		hubMembers: registeredMembers(x.before, q.query.Hub),
	}
	return c.removals(), "", nil
}

// handover returns why a response could not give up what moves, "" if it could. Like
// Guard.handover, it leaves out what moves to another hub.
func (x dryRun) handover(q dryQuery, moves []move) string {
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
	found, verdict, err := x.removals(dryQuery{r, wide})
	switch {
	case verdict == Broken:
		return err
	case err == nil && found.areOverBudget():
		return errors.New(found.message(r))
	}
	for _, further := range destinations(found.moves) {
		if err := x.unanswered(hub, further, seen); err != nil {
			return err
		}
	}
	return nil
}

func isBadRequest(err error) bool {
	var refused *queryerr.Error
	return errors.As(err, &refused) && refused.Kind == queryerr.KindBadRequest
}

// registeredMembers returns a function for the members of a hub that are registered.
func registeredMembers(st *fleetstate.State, hub string) func() map[string]bool {
	return func() map[string]bool {
		out := map[string]bool{}
		for _, m := range st.Fleet.Members(hub) {
			if !m.IsHub && m.Lifecycle != fleet.Retired {
				out[m.Name] = true
			}
		}
		return out
	}
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
