package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/rendercache"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/lifecycle"

	"github.com/argosy-hub/argosy/internal/resolve/query"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/bootstrap"
	"github.com/argosy-hub/argosy/internal/change/report/planreport"
)

// Question says what to compare. Base is required. Without Head, the base is compared with the
// folder as it is, or with the revision that Repository reads.
type Question struct {
	Base, Head string
	Hub        string // only this hub; default all
	Facts      facts.Set
	Bounds     Bounds
	// Progress, if not nil, is called with the number of objects compared so far.
	Progress func(hub string, objects int)
}

// approvalDays is how many days an approval that a plan proposes is valid.
const approvalDays = 7

// Plan compares two revisions.
func (p *Pipelines) Plan(ctx context.Context, q Question) (planreport.Plan, error) {
	before, after, err := p.snapshots(ctx, &q)
	if err != nil {
		return planreport.Plan{}, err
	}
	if hasStandIn(after) {
		q.Facts = facts.Set{} // its clusters are for generators alone
	}
	base := planreport.Revision{Name: q.Base, Revision: before.Revision}
	head := planreport.Revision{Name: q.Head, Revision: after.Revision}
	c, err := p.compare(before, after, q)
	if err != nil {
		return planreport.Plan{}, stateError(err, base, head)
	}
	if err := c.restrict(q.Hub); err != nil {
		return planreport.Plan{}, err
	}
	out := planreport.New(base, head, c.plan)
	out.AddProblems(plan.Head, c.head)
	out.AddProblems(plan.Base, c.base)
	expires := time.Now().UTC().AddDate(0, 0, approvalDays).Format(time.DateOnly)
	out.Guard = planreport.NewGuard(c.plan, c.dryRun, guard.NeededApprovals(c.dryRun, c.fleet), expires)
	if out.Bounds, err = q.Bounds.check(out, c.before, c.after); err != nil {
		return planreport.Plan{}, err
	}
	if len(after.Parts()) > 0 {
		out = problem.Relocate(out, after.Locate)
	}
	return out, nil
}

// snapshots reads both revisions, concurrently where no mounts are given: the mounts of the head
// depend on the base. It completes the name of the head.
func (p *Pipelines) snapshots(ctx context.Context, q *Question) (before, after *snapshot.Snapshot, err error) {
	r := p.o.Repository
	if before, after, err = r.both(ctx, q); err == nil {
		err = checkRoots(p.o.Roots, before, after)
	}
	if err != nil || !isWithoutFleet(before, after) {
		return before, after, err
	}
	r.anyName = true
	if before, after, err = r.both(ctx, q); err != nil {
		return nil, nil, err
	}
	hub := StandInHub(before, after)
	return WithStandIn(before, hub), WithStandIn(after, hub), nil
}

func (r Repository) both(ctx context.Context, q *Question) (before, after *snapshot.Snapshot, err error) {
	base, head := r, r
	var warnings [2]problem.List
	base.Warn = func(w problem.Problem) { warnings[0] = append(warnings[0], w) }
	head.Warn = func(w problem.Problem) { warnings[1] = append(warnings[1], w) }
	var errs [2]error
	read := []func(){
		func() { before, errs[0] = base.at(ctx, "--base", q.Base) },
		func() { after, errs[1] = head.revision(ctx, &q.Head) },
	}
	if len(head.Mounts) == 0 {
		run.Each(len(read), func(i int) { read[i]() })
	} else if read[0](); errs[0] == nil {
		head.base = newBaseMounts(before)
		read[1]()
	}
	if warn := r.Warn; warn != nil {
		for _, w := range slices.Concat(warnings[0], warnings[1]) {
			warn(w)
		}
	}
	return before, after, cmp.Or(errs[0], errs[1])
}

// comparison is a plan, what the guard would decide, and the problems of both revisions.
type comparison struct {
	plan       *plan.Plan
	fleet      *fleet.Fleet // of the head
	before     *fleetstate.State
	after      *fleetstate.State
	dryRun     []guard.Decision
	base, head []problem.Problem
}

// compare builds both states, the second from the first, and follows the pipelines of all hubs that
// the head has.
func (p *Pipelines) compare(before, after *snapshot.Snapshot, q Question) (*comparison, error) {
	base, head, err := states(before, after, q.Facts)
	if err != nil {
		return nil, err
	}
	return p.compareStates(base, head, before, after, q), nil
}

// states builds the states of both snapshots. The facts are from before the change, and the plan
// shows the fleet after it.
func states(before, after *snapshot.Snapshot, f facts.Set) (base, head *fleetstate.State, err error) {
	if base, err = knownState(before, f); err != nil {
		return nil, nil, &plan.StateError{Base: true, Err: err}
	}
	if head, err = fleetstate.Build(base, after, f); err == nil {
		if settled, other := lifecycle.SettledFacts(head, base); other {
			head, err = fleetstate.Build(base, after, settled)
		}
	}
	if err != nil {
		return nil, nil, &plan.StateError{Err: err}
	}
	return base, head, nil
}

// compareStates compares the states of both snapshots. Clusters that both share take little time.
func (p *Pipelines) compareStates(base, head *fleetstate.State, before, after *snapshot.Snapshot, q Question) *comparison {
	cache := &rendercache.Cache{}
	baseRemote, headRemote := p.remotes(base, before, cache)
	base = base.WithCatalogs(p.catalogsOf(base, before, baseRemote))
	head = head.WithCatalogs(p.catalogsOf(head, after, headRemote))
	warnings, strange := unregistered(head, q.Hub)
	hubs := p.hubs(head, after, q.Hub)
	c := &comparison{fleet: head.Fleet, before: base, after: head}
	requested := requestedBy(p.hubs(base, before, q.Hub), hubs)
	compare := []func(){
		func() { c.plan = plan.Compare(base, head, requested) },
		func() { c.dryRun = guard.DryRun(base, head, time.Now()) },
	}
	run.Each(len(compare), func(i int) { compare[i]() })
	c.plan.AddHolds(base, head, time.Now())
	c.dryRun = slices.DeleteFunc(c.dryRun, func(f guard.Decision) bool { return slices.Contains(strange, f.Hub) })
	c.head = slices.Concat(missingCatalogs(head, before, after, q.Hub), unknownCatalogs(c.plan, head, p.o.Remotes != nil), warnings)
	c.head = append(c.head, missingFacts(base, head)...)
	c.head = append(c.head, movedClusters(base.Fleet, head.Fleet)...)
	c.head = append(c.head, head.Resolver().Teams().Uncordoned(base.Resolver().Teams())...)
	for _, hub := range head.Fleet.Hubs() {
		if hubs[hub] == nil {
			continue
		}
		from, isNew := before, !slices.Contains(base.Fleet.Hubs(), hub)
		if isNew {
			from = snapshot.FromMap(nil) // nothing follows its roots yet, if there are any
		}
		was, is := p.hub(base, from, after, hub, cache, baseRemote), p.hub(head, after, before, hub, cache, headRemote)
		c.dropUndeliveredGrants(hubs[hub])
		if len(was.Roots())+len(is.Roots()) == 0 && !is.HasNoFleet() {
			c.head = append(c.head, unlistedComponents(c.plan, head, hub)...)
			continue // the fleet is bootstrapped from another repository: a plan knows only its responses
		}
		c.plan.Expand(was, is, plan.ExpandOptions{Secrets: p.o.Secrets, Progress: func(objects int) {
			if q.Progress != nil {
				q.Progress(hub, objects)
			}
		}})
		if c.head = append(c.head, is.Problems()...); !isNew {
			c.base = append(c.base, was.Problems()...)
		}
	}
	return c
}

// remotes returns the remotes that the base and the head fetch with; nil without Options.Remotes.
func (p *Pipelines) remotes(base *fleetstate.State, s *snapshot.Snapshot, cache *rendercache.Cache) (before, after source.Remote) {
	if p.o.Remotes == nil {
		return nil, nil
	}
	before = p.o.Remotes.Base()
	return before, p.o.Remotes.Head(func() map[string]bool {
		named := map[string]bool{}
		for _, hub := range base.Fleet.Hubs() {
			maps.Copy(named, p.hub(base, s, nil, hub, cache, before).Addresses())
		}
		return named
	})
}

// knownState builds a state without the members that cannot be computed: a base has no last known
// good snapshot.
func knownState(s *snapshot.Snapshot, f facts.Set) (*fleetstate.State, error) {
	st, err := fleetstate.Build(nil, s, f)
	if err != nil || len(st.Problems) == 0 {
		return st, err
	}
	lastKnownGood := fleetstate.LastKnownGood{}
	for _, q := range st.Quarantined("") {
		lastKnownGood[q.ID] = nil
	}
	return fleetstate.Restore(nil, s, f, lastKnownGood)
}

// dropUndeliveredGrants leaves ownership grants out of the dry run where the hub's ApplicationSets
// are known and none queries for any.
func (c *comparison) dropUndeliveredGrants(h *expand.Hub) {
	if bootstrap.Of(h).MayAsk(query.Grants, "") {
		return
	}
	c.dryRun = slices.DeleteFunc(c.dryRun, func(x guard.Decision) bool { return x.Hub == h.Name() && x.View == query.Grants })
}

// restrict keeps only one hub, if the question names one.
func (c *comparison) restrict(hub string) error {
	if hub == "" {
		return nil
	}
	var names []string
	for _, h := range c.plan.Hubs {
		names = append(names, h.Name)
	}
	if !slices.Contains(names, hub) {
		return problem.Usage(problem.Nearest(hub, names), "hub %q has no member files in either revision", hub)
	}
	c.plan.Hubs = slices.DeleteFunc(c.plan.Hubs, func(h plan.Hub) bool { return h.Name != hub })
	c.plan.Broken = slices.DeleteFunc(c.plan.Broken, func(b plan.Broken) bool { return b.Hub != hub })
	c.dryRun = slices.DeleteFunc(c.dryRun, func(f guard.Decision) bool { return f.Hub != hub })
	return nil
}

// stateError returns the failure of a revision whose state cannot be built, with its problems and
// the name of the revision.
func stateError(err error, base, head planreport.Revision) error {
	out := &problem.Failure{Findings: true, Err: err, Hints: []string{fmt.Sprintf("there is no plan until these errors of the head, %s, are fixed", head)}}
	var state *plan.StateError
	if errors.As(err, &state) && state.Base {
		out.Hints = []string{fmt.Sprintf("these are errors of the base, %s: choose a base without", base)}
	}
	var unavailable *problem.QueryError
	if errors.As(err, &unavailable) {
		out.Problems = unavailable.Problems
	} else {
		out.Problems = problem.From(state.Err, problem.InvalidLayout, problem.Pos{})
	}
	return out
}
