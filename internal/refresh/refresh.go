package refresh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source"
)

// Options configure a Refresher. Source is required.
type Options struct {
	// Source belongs to the Refresher: Stop closes it.
	Source source.Source
	// Facts default to none: every member counts as registered.
	Facts FactsProvider
	// Hub is the hub whose errors make a revision refused; empty means all.
	Hub string
	// Mounts opens the repositories that the layout mounts; default none can be read. The Refresher
	// closes them.
	Mounts func(fleet.Mount) (source.Source, error)
	// Judge holds tenants (G11); default none is held.
	Judge Judge
	// Store keeps what a restart goes on from; without it, a restart accepts what the source has.
	Store *store.Store
	// MaxKept is what all last known good snapshots may take, in bytes; default 256 MiB, and at
	// most a tenth of GOMEMLIMIT.
	MaxKept int
	// Patience is how long a source may be silent after the start before the state from before the
	// restart is served; default 15 s.
	Patience time.Duration
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
	// Observe is called after each reconciliation that accepted or refused something.
	Observe func(Outcome)
}

// Judge decides which tenants a candidate serves from their last known good snapshots.
type Judge interface {
	// Await waits until it can decide. It returns false if the context ends before.
	Await(ctx context.Context) bool
	// Holds returns the tenants to hold. Previous is the served state, nil before the first.
	Holds(previous, desired *fleetstate.State) []fleetstate.Hold
}

// Outcome is the result of one reconciliation.
type Outcome struct {
	// Swapped reports that a new state is being served; then it is State.
	Swapped bool
	State   *fleetstate.State
	// Refused are all refusals, old and new.
	Refused  []Refusal
	Duration time.Duration
}

// Refresher keeps the newest good state. Its methods may be called concurrently.
type Refresher struct {
	o       Options
	state   atomic.Pointer[fleetstate.State]
	trigger run.Trigger
	cancel  context.CancelFunc
	running sync.WaitGroup
	started atomic.Bool
	again   atomic.Bool // the state is to be published anew

	mu      sync.Mutex
	newest  polled
	read    read // the last one; what follows an error is as it was
	status  Status
	changed chan struct{}

	// The worker's own: what is served, what is written, and what was before the restart.
	serving       *candidate
	checkpoint    *checkpoint // nil without a store
	rewriting     rewriting
	restored      *snapshot.Snapshot
	lastKnownGood fleetstate.LastKnownGood
	holds         []fleetstate.Hold
	mounts        *mounts
}

// defaultPatience is less than a probe of Kubernetes waits before it gives up a pod.
const defaultPatience = 15 * time.Second

// polled is the newest of the source.
type polled struct {
	done     bool
	snapshot *snapshot.Snapshot
	err      error
	// isOld reports that the source has not been read since the start: what it had before is beside
	// an error, and replicas may have accepted later commits.
	isOld bool
}

// isNewerThan reports whether there is another revision than a snapshot's.
func (p polled) isNewerThan(s *snapshot.Snapshot) bool {
	return p.snapshot != nil && !p.isOld && p.snapshot.Revision != s.Main().Revision
}

// read is a revision that the source had as its newest, and when it was read.
type read struct {
	revision string
	at       time.Time
}

// New makes a Refresher that does nothing yet.
func New(o Options) (*Refresher, error) {
	if o.Source == nil {
		return nil, errors.New("refresh: no source")
	}
	if o.Facts == nil {
		o.Facts = StaticFacts{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Mounts == nil {
		o.Mounts = func(m fleet.Mount) (source.Source, error) {
			return nil, &source.Error{Reason: source.InvalidOptions, Source: m.URL, Detail: "the service reads no mounts"}
		}
	}
	if o.Observe == nil {
		o.Observe = func(Outcome) {}
	}
	o.Patience, o.MaxKept = cmp.Or(o.Patience, defaultPatience), cmp.Or(o.MaxKept, keptBudget())
	r := &Refresher{
		o: o, trigger: run.NewTrigger(), changed: make(chan struct{}),
		status: Status{Source: o.Source.String(), Waiting: waitingForSource(o.Source)},
	}
	r.mounts = &mounts{open: o.Mounts, fire: r.trigger.Fire, readers: map[fleet.Mount]*mountReader{}, refused: map[string]refusedMount{}, whole: map[string]snapshot.Part{}}
	if o.Store != nil {
		r.mounts.isShared = o.Store.Shared()
		r.checkpoint = newCheckpoint(o.Store)
		r.status.Store = o.Store.String()
	}
	return r, nil
}

func waitingForSource(s source.Source) string { return s.String() + " has not been read yet" }

// Start begins to watch source and facts. It returns at once; the context ends all of it, as Stop
// does.
func (r *Refresher) Start(ctx context.Context) {
	if r.started.Swap(true) {
		panic("refresh: started twice") //nolint:forbidigo // a mistake of the program
	}
	ctx, r.cancel = context.WithCancel(ctx)
	for _, run := range []func(context.Context){
		r.run,
		func(ctx context.Context) { r.o.Source.Watch(ctx, r.update) },
		func(ctx context.Context) { r.o.Facts.Run(ctx, r.trigger.Fire) },
	} {
		r.running.Go(func() { run(ctx) })
	}
}

// Stop ends all work, waits for it, and closes the source. The state stays readable.
func (r *Refresher) Stop() error {
	if r.cancel != nil {
		r.cancel()
	}
	r.running.Wait()
	r.mounts.close()
	return r.o.Source.Close()
}

// State is the newest good state, nil before the first.
func (r *Refresher) State() *fleetstate.State { return r.state.Load() }

// Status is what is being served, and why it is not the newest.
func (r *Refresher) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Refused, s.Quarantined, s.Mounts = slices.Clone(s.Refused), slices.Clone(s.Quarantined), slices.Clone(s.Mounts)
	if l, ok := r.o.Source.(poller); ok && s.Ready() && len(s.Refused) == 0 && l.Polled().After(s.LastSuccess) {
		s.LastSuccess = l.Polled()
	}
	return s
}

// poller is a source that reports its last successful poll: Watch is silent while nothing changes.
type poller interface{ Polled() time.Time }

// ReadAt is when the repository had the served revision as its newest, and its mounts theirs, as
// far as is known: a process that lags knows of an earlier time than others. It is zero where a
// revision is not served, or where the repository has had another one since.
func (r *Refresher) ReadAt(revision string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.state.Load()
	if st == nil || st.Revision != revision || r.read.revision != st.Resolver().Snapshot.Main().Revision {
		return time.Time{}
	}
	at := r.read.at
	if p, is := r.o.Source.(poller); is && r.newest.err == nil && p.Polled().After(at) {
		at = p.Polled()
	}
	for _, m := range r.status.Mounts {
		if m.IsStale() && m.Since.Before(at) {
			at = m.Since
		}
	}
	return at
}

// Changed is closed at the next change of Status. Call it before Status, so as to miss nothing.
func (r *Refresher) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Trigger makes source and facts poll now. It does not wait.
func (r *Refresher) Trigger() {
	r.o.Source.Refresh()
	r.mounts.refresh()
	r.o.Facts.Refresh()
}

// Reconsider publishes the served state anew, as another one with the same contents: what its
// responses are composed of has changed. It does not wait.
func (r *Refresher) Reconsider() {
	r.again.Store(true)
	r.trigger.Fire()
}

// update takes in the newest of the source.
func (r *Refresher) update(s *snapshot.Snapshot, err error) {
	r.mu.Lock()
	r.newest = polled{done: true, snapshot: s, err: err}
	if err == nil {
		r.read = read{s.Revision, r.o.Now()}
	}
	r.newest.isOld = r.read.revision == "" && r.mounts.isShared
	r.mu.Unlock()
	r.trigger.Fire()
}

// stopWaiting takes a source that has said nothing since the start for one that cannot be read.
func (r *Refresher) stopWaiting() {
	r.mu.Lock()
	if !r.newest.done {
		r.newest = polled{done: true, err: &source.Error{
			Reason: source.Unreachable, Source: r.o.Source.String(), Detail: fmt.Sprintf("nothing has been read within %s of the start", r.o.Patience),
		}}
	}
	r.mu.Unlock()
	r.trigger.Fire()
}

// run is the worker.
func (r *Refresher) run(ctx context.Context) {
	if !r.restore(ctx) || r.o.Judge != nil && !r.o.Judge.Await(ctx) {
		return
	}
	defer time.AfterFunc(r.o.Patience, r.stopWaiting).Stop()
	r.trigger.Fire() // facts may have been complete before the first change
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.trigger:
		}
		if ctx.Err() != nil {
			return
		}
		r.reconcile(ctx)
	}
}

// reconcile brings the served state up to date. Replicas agree on what they serve quarantined and
// draining members from before they serve it; where there are none, a slow store does not hold up a
// commit.
func (r *Refresher) reconcile(ctx context.Context) {
	began := r.o.Now()
	r.mu.Lock()
	newest := r.newest
	r.status.Computing = began
	r.mu.Unlock()
	d := r.tryAccept(newest)
	switch {
	case r.serving == nil:
	case d.swapped:
		r.trigger.Fire() // mounts are judged upon what is served
	default:
		r.acceptMounts(ctx, &d)
	}
	write := d.swapped || r.rewriting.isDue()
	agree := write && r.o.Store != nil && r.o.Store.Shared() && r.servesLastKnownGood()
	if agree {
		if theirs := r.writeCheckpoint(ctx); theirs != nil {
			r.adopt(theirs)
			d.swapped = true
		}
	}
	refused := r.publish(d, began)
	if d.swapped || len(refused) > 0 {
		o := Outcome{Swapped: d.swapped, Refused: refused, Duration: r.o.Now().Sub(began)}
		if d.swapped {
			o.State = r.serving.state
		}
		run.Caught(r.o.Logger, "telling of a state", func() { r.o.Observe(o) })
	}
	if write && !agree {
		r.writeCheckpoint(ctx)
	}
}

// servesLastKnownGood reports whether a member is not served as the snapshot has it, or should not
// be.
func (r *Refresher) servesLastKnownGood() bool {
	return len(r.serving.state.LastKnownGood()) > 0 || len(r.serving.state.Quarantined("")) > 0
}

// restore reads what was accepted before the restart; false when the context has ended. It waits
// for a store that cannot be reached: without it, the service could answer less than its replicas
// do (G4).
func (r *Refresher) restore(ctx context.Context) bool {
	if r.checkpoint == nil {
		return true
	}
	return store.Await(ctx, func(ctx context.Context) error {
		s, kept, err := r.checkpoint.read(ctx)
		if err != nil && !store.IsDamaged(err) {
			return err
		}
		r.restored = s
		if kept != nil {
			r.lastKnownGood, r.holds = kept.lastKnownGood, kept.holds
		}
		if err != nil {
			r.o.Logger.Error("the accepted state cannot be used", "state", r.o.Store.String(), "as a whole", s == nil, "error", err)
			r.setStoreProblem(err)
		}
		return nil
	}, func(err error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		waiting := "the accepted state cannot be read yet: " + err.Error()
		if waiting == r.status.Waiting {
			return
		}
		r.o.Logger.Warn("the accepted state cannot be read yet", "state", r.o.Store.String(), "error", err)
		r.status.Waiting = waiting
		r.notify()
	})
}

// writeCheckpoint writes what a restart goes on from. A full disk does not stop the service: the
// write is repeated. The end of the context does not end the write, as the state is served. It
// returns what a replica that has written the same snapshot before serves members from, if that
// differs.
func (r *Refresher) writeCheckpoint(ctx context.Context) (theirs *keptMembers) {
	r.restored = nil
	st := r.serving.state
	if p, is := r.o.Facts.(Forgetter); is {
		p.Forget(func(name string) bool {
			return slices.ContainsFunc(st.Fleet.Hubs(), func(hub string) bool { return st.Fleet.Member(hub, name) != nil })
		})
	}
	if r.checkpoint == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.Timeout)
	defer cancel()
	theirs, err := r.checkpoint.write(ctx, r.serving.snapshot, keptMembers{st.LastKnownGood(), st.Holds("")})
	if r.setStoreProblem(err) && err != nil {
		r.o.Logger.Error("the store does not take the accepted state", "state", r.o.Store.String(), "error", err)
	}
	if err == nil {
		r.rewriting = rewriting{}
	}
	if err != nil || r.o.Store.Shared() && r.servesLastKnownGood() { // a replica may know more of these members
		r.rewriting.begin(r.trigger)
	}
	return theirs
}

// adopt serves members from the last known good snapshots of a replica, and holds the same tenants,
// so that both serve the same.
func (r *Refresher) adopt(theirs *keptMembers) {
	s := *r.serving
	st, err := caught(r, func() (*fleetstate.State, error) {
		return fleetstate.Restore(s.state, s.snapshot, s.facts, theirs.lastKnownGood, theirs.holds...)
	})
	if err != nil {
		r.setStoreProblem(err)
		return
	}
	r.o.Logger.Info("a replica has other last known good revisions; they are taken over",
		"revision", st.Revision, "state", r.o.Store.String())
	s.state, r.serving = st, &s
}

// setStoreProblem says in Status what is wrong with the store, nil for nothing. It reports whether
// that is news.
func (r *Refresher) setStoreProblem(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.status.StoreProblem
	r.status.StoreProblem = ""
	if err != nil {
		r.status.StoreProblem = shorten(err.Error())
	}
	return r.status.StoreProblem != before
}
