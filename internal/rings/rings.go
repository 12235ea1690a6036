package rings

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/roster"
)

// Options configure Rings. Hub, Responses, Queries and State are required.
type Options struct {
	// Hub is the hub whose Applications the facts know.
	Hub string
	// Responses caches those of newest states.
	Responses *response.Cache
	// Queries returns those of all ApplicationSets, by name.
	Queries func() map[string][]query.Query
	// State returns the served state, nil before the first.
	State func() *fleetstate.State
	// ReadAt is when the repository had a served revision as its newest (refresh.Refresher.ReadAt);
	// default Now.
	ReadAt func(revision string) time.Time
	// Kept returns the components of a state that the guard keeps as they are served; default none.
	Kept func(st *fleetstate.State) []lifecycle.Item
	// Reconsider has the served state published anew, when a ring has moved.
	Reconsider func()
	// Store keeps the records for a restart; default memory alone.
	Store *store.Store
	// Fetch reads the files of a revision; default nobody has it but the service.
	Fetch func(ctx context.Context, revision string) (*snapshot.Snapshot, error)
	// Report takes what the service of an agent reports on its groups, by group; default nobody
	// does.
	Report func(reports map[string]facts.GroupReport)
	// Check carries out a check once; default none is, and no ring with checks goes on.
	Check func(context.Context, rollout.Check) rollout.CheckOutcome
	// Silent is why a member's API server does not respond, empty for one that does; default nobody
	// knows.
	Silent func(cluster string) string
	// GrantHealth is why the health of ownership grants says nothing of agents, empty if it does;
	// default it does.
	GrantHealth func(context.Context) string
	// CheckInterval is how often each check is carried out; default checkInterval.
	CheckInterval time.Duration
	// Now defaults to time.Now.
	Now func() time.Time
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Rings composes responses. It may be used by several goroutines.
type Rings struct {
	o Options
	// files are those of revisions, in the store.
	files *refresh.Snapshots
	// trigger has Run look, and checking has checks carried out.
	trigger, checking run.Trigger

	looking  sync.Mutex // one look at a time
	sections sections   // of the last look
	looked   string     // the revision served then
	ended    string     // the revision for which the records of other policies have been ended
	mu       sync.Mutex
	policies map[string]*policyState
	// revisions are the states that rings are answered from, or may be, by revision.
	revisions map[string]*revision
	recent    []string // their order
	previous  string   // the revision that was newest before this one
	// served is the served state; nil before the first. cells are frozen in it, holds is their
	// record, and holdsRead reports that it has been read, or that there is no store.
	served    *fleetstate.State
	cells     frozenCells
	holds     *store.Document[rollout.Log]
	holdsRead bool
	// hasNoFrozen reports that the record is there without any cell, or not there.
	hasNoFrozen bool
	// hasStarted reports that a state has had all that records say, or that one could not be read.
	hasStarted atomic.Bool
	views      []*view // of the newest states, newest first
	// serving is the view of the served state; nil where nothing is kept.
	serving atomic.Pointer[view]
	tried   map[string]time.Time // when the files of announced revisions were asked for last
}

// policyState is what is known of one policy.
type policyState struct {
	log   rollout.Log
	waits []rollout.Wait
	// policy is that of the newest state that had one; it is replaced under the lock.
	policy *rollout.Policy
	// steered is the policy in force as the newest one, steeredBy, steers it.
	steered, steeredBy *rollout.Policy
	steeredFrom        *rollout.InForce
	record             *store.Document[rollout.Log]
	// before is the revision that was served before the policy was; empty where nobody knows it.
	before string
	// needs are the revisions that the log does not have yet: where it is to begin, or those of a
	// record that is being read or written. The map is replaced, never changed.
	needs map[string]bool
	// isRead reports that the record has been read, or that there is no store; isLost that there is
	// none though members may run anything.
	isRead, isLost bool
	// isEnded reports that the file is gone and the policy is not in force any more.
	isEnded bool
	// isStale reports that the record has something that has not been taken in: nothing is written.
	isStale bool
	// advanced is the served revision that the log has been brought up to date with last.
	advanced string
	// noted is when the rings were looked at last, as the record says.
	noted time.Time
	// checks are the results of its rings' checks; the map is replaced, never changed.
	checks  map[string]rollout.CheckResult
	problem string
}

// revision is a state that was the newest, with the facts of now.
type revision struct {
	state     *fleetstate.State
	responses *response.Cache
	// hasJoined reports that members have joined since its files were written; unfit are members
	// that it cannot compute: they have what the newest commit says.
	hasJoined bool
	unfit     []roster.NewMember
	// hold is why a view's cells are frozen at the revision; empty for a ring's. isAbsent reports
	// that nothing was served of them.
	hold     string
	isAbsent bool
}

// maxRevisions bounds the states that no ring has and an approval may name.
const maxRevisions = 8

// New makes Rings that know nothing yet.
func New(o Options) *Rings {
	if o.Kept == nil {
		o.Kept = func(*fleetstate.State) []lifecycle.Item { return nil }
	}
	if o.Reconsider == nil {
		o.Reconsider = func() {}
	}
	if o.Report == nil {
		o.Report = func(map[string]facts.GroupReport) {}
	}
	if o.Silent == nil {
		o.Silent = func(string) string { return "" }
	}
	if o.GrantHealth == nil {
		o.GrantHealth = func(context.Context) string { return "" }
	}
	if o.Check == nil {
		o.Check = noChecks
	}
	o.CheckInterval = cmp.Or(o.CheckInterval, checkInterval)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ReadAt == nil {
		o.ReadAt = func(string) time.Time { return o.Now() }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	out := &Rings{o: o, files: refresh.NewSnapshots(o.Store, "rollout-files", 1), trigger: run.NewTrigger(), checking: run.NewTrigger(), policies: map[string]*policyState{}, revisions: map[string]*revision{}, tried: map[string]time.Time{}}
	if out.holdsRead = o.Store == nil; !out.holdsRead {
		out.holds = newRecord(o.Store, holdsRecord)
	}
	return out
}

// Serving notes a state that is served from now on.
func (r *Rings) Serving(st *fleetstate.State) {
	r.locked(func() {
		r.learn(st)
		var v *view
		var cells frozenCells
		if r.keepsCells(st) || r.hasPolicies(st) {
			v = r.viewBy(st)
			cells = v.frozen.cells
		}
		r.served, r.cells = st, cells
		r.serving.Store(v)
	})
	r.trigger.Fire()
}

// Serves reports whether a component that the served state gives a member is in the responses. A
// ring may not have taken it yet.
func (r *Rings) Serves(i lifecycle.Item) bool {
	v := r.serving.Load()
	if v == nil {
		return true
	}
	place := v.place(i)
	if revision, _ := find(v.frozen.cells, i.Cluster, i.Group, i.Component); place <= 0 || revision == unknownRevision {
		return true
	}
	held := v.held[place-1]
	return !held.isAbsent && lifecycle.Has(held.state, r.o.Hub, i)
}

// locked calls a function with the lock, which a panic gives back.
func (r *Rings) locked(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

// learn remembers a state as that of its revision. The caller holds the lock.
func (r *Rings) learn(st *fleetstate.State) {
	if len(r.recent) == 0 || r.recent[len(r.recent)-1] != st.Revision {
		if len(r.recent) > 0 {
			r.previous = r.recent[len(r.recent)-1]
		}
		r.recent = append(slices.DeleteFunc(r.recent, func(s string) bool { return s == st.Revision }), st.Revision)
	}
	if known := r.revisions[st.Revision]; known != nil {
		known.state = st
	} else {
		r.revisions[st.Revision] = &revision{state: st, responses: new(response.Cache)}
	}
	maps.DeleteFunc(r.policies, func(_ string, p *policyState) bool { return p.isEnded })
	before := r.inForce(st)
	for _, p := range newest(st) {
		if r.policies[p.Name] == nil {
			if !isWithoutFile(p) && overlaps(before, p) { // it waits
				continue
			}
			r.policies[p.Name] = r.open(p, st)
		}
		r.policies[p.Name].policy = p
	}
	r.forget(st)
}

// forget drops what no ring has, no approval can name, and no policy is about. The caller holds the
// lock.
func (r *Rings) forget(st *fleetstate.State) {
	needed := map[string]bool{st.Revision: true, r.previous: true}
	for _, revision := range r.cells {
		needed[revision] = true
	}
	for name, p := range r.policies {
		if p.inForce(newestOf(st, name)) == nil {
			delete(r.policies, name)
			continue
		}
		maps.Copy(needed, p.log.Revisions())
		maps.Copy(needed, p.needs)
	}
	for _, rev := range r.recent[max(0, len(r.recent)-maxRevisions):] {
		needed[rev] = len(r.policies) > 0 || needed[rev]
	}
	maps.DeleteFunc(r.revisions, func(rev string, _ *revision) bool { return !needed[rev] })
	r.recent = slices.DeleteFunc(r.recent, func(rev string) bool { return r.revisions[rev] == nil })
}

// open is what is known of a policy at first. Without a store, that is all.
func (r *Rings) open(p *rollout.Policy, st *fleetstate.State) *policyState {
	out := &policyState{policy: p}
	if before := r.revisions[r.previous]; before != nil && r.previous != st.Revision {
		out.before, out.needs = r.previous, map[string]bool{r.previous: true}
	}
	if r.o.Store != nil {
		out.record = newRecord(r.o.Store, p.Name)
		return out
	}
	out.isRead = true
	r.begin(out, st)
	return out
}

// begin gives a policy without records its first ones (rule 5). The caller holds the lock.
func (r *Rings) begin(p *policyState, st *fleetstate.State) {
	log := func(revision string) rollout.Log {
		if agentOf(st) != "" {
			return rollout.BeginFollowing(revision, r.o.Now())
		}
		return rollout.Begin(p.policy, revision, r.o.Now())
	}
	switch {
	case r.revisions[p.before] != nil:
		p.log = log(p.before)
	case r.isSame(p.policy, st):
		p.log = log(st.Revision)
	default:
		p.isLost = true
		return
	}
	switch {
	case isWithoutFile(p.policy):
	case agentOf(st) != "":
		p.log = p.log.Begins(p.policy, st.Revision)
	default:
		p.log = p.log.Put(p.policy, rollout.Train{Revision: st.Revision}, r.o.Now())
	}
	p.isLost, p.advanced, p.needs = false, p.log.Newest.Revision, nil
}

// isSame reports whether all Applications of a policy's scope are what a state answers. One without
// a digest says nothing.
func (r *Rings) isSame(p *rollout.Policy, st *fleetstate.State) bool {
	if r.isFlux(st) {
		return r.isSameFlux(p, st)
	}
	answered, complete := r.digests(st)
	apps, _ := st.Facts().Applications()
	for _, a := range apps {
		if a.Digest == "" || a.Grant || !p.Scope.Covers(a.Group, a.Component) {
			continue
		}
		if !complete || answered[a.Name] != a.Digest {
			return false
		}
	}
	return true
}

// digests are those of all Applications that a state answers, by name, and whether all queries are
// known.
func (r *Rings) digests(st *fleetstate.State) (map[string]string, bool) {
	out := map[string]string{}
	for _, q := range r.asked(query.Components, query.Members) {
		resp, err := r.o.Responses.Get(context.Background(), st, q)
		if isUnknown(err) {
			continue
		}
		if err != nil {
			return out, false
		}
		resp.ParameterSets(func(s response.ParameterSet) { out[s.Item().Name] = s.Digest() })
	}
	return out, len(r.o.Queries()) > 0
}

// asked returns the known queries about the own hub with one of some views.
func (r *Rings) asked(views ...query.View) (out []query.Query) {
	known := r.o.Queries()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out = append(out, known[name]...)
	}
	return slices.DeleteFunc(out, func(q query.Query) bool { return q.Hub != r.o.Hub || !slices.Contains(views, q.View) })
}

// Run looks after each change, and from time to time, until the context ends.
func (r *Rings) Run(ctx context.Context) {
	var checks sync.WaitGroup
	defer checks.Wait()
	checks.Go(func() { r.runChecks(ctx) })
	repeat(ctx, interval, r.trigger, func() { // after a panic the next look tries again
		run.Caught(r.o.Logger, "looking at rings", func() { r.Look(ctx) })
	})
}

// repeat runs a function after each trigger, and from time to time, until the context ends.
func repeat(ctx context.Context, interval time.Duration, now run.Trigger, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-now:
		}
		do()
	}
}

// interval is how often rings are looked at when nothing changes: soaks and windows end.
const interval = 5 * time.Second
