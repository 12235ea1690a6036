package refresh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/state"
)

// Options say what to keep fresh. Source is required.
type Options struct {
	// Source is taken over: Stop closes it.
	Source source.Source
	// Facts default to none: every member counts as registered.
	Facts FactsProvider
	// Hub is the hub whose errors make a revision refused; empty means all.
	Hub string
	// StateFile keeps the last accepted snapshot across restarts; without it, a restart takes what the source has. Beside it
	// are files of its name and more, for the members that were at home.
	StateFile string
	// State keeps the same in a room that replicas share, in place of StateFile. What cannot be reached is waited for.
	State state.Room
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Now defaults to time.Now.
	Now func() time.Time
	// Observe is called by the worker after each of its turns that took in or refused something.
	Observe func(Outcome)
}

// Outcome is one turn of the worker.
type Outcome struct {
	// Swapped tells whether a new state is being served; then it is State.
	Swapped bool
	State   *generator.State
	// Refused are the refusals that this turn found, old and new.
	Refused  []Refusal
	Duration time.Duration
}

// Refresher keeps the newest good state. Its methods may be called concurrently.
type Refresher struct {
	o       Options
	state   atomic.Pointer[generator.State]
	kick    chan struct{}
	cancel  context.CancelFunc
	running sync.WaitGroup
	started atomic.Bool

	mu      sync.Mutex
	latest  look
	status  Status
	changed chan struct{}
	// stateProblem is why what is kept cannot be used, or nothing can be kept.
	stateProblem string

	// What follows belongs to the worker: what is served, what was served before a restart, and what is written down.
	serving  *serving
	accepted *snapshot.Snapshot
	homes    generator.Homes
	keeper   keeper // nil when nothing is kept
}

// look is what the source said last.
type look struct {
	done     bool
	snapshot *snapshot.Snapshot
	err      error
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
	if o.Observe == nil {
		o.Observe = func(Outcome) {}
	}
	r := &Refresher{
		o: o, kick: make(chan struct{}, 1), changed: make(chan struct{}),
		status: Status{Source: o.Source.String(), Waiting: waitingForSource(o.Source)},
	}
	switch {
	case o.State != nil:
		r.keeper = &roomKeeper{room: o.State}
	case o.StateFile != "":
		r.keeper = &fileKeeper{path: o.StateFile}
		_ = r.remember(context.Background()) // a folder that cannot be read is as one that is damaged
	}
	return r, nil
}

// remember reads what was kept, and says what of it cannot be used. The error means that it cannot be reached.
func (r *Refresher) remember(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roomTimeout)
	defer cancel()
	accepted, homes, err := r.keeper.restore(ctx)
	if err != nil && r.o.State != nil && !state.IsDamaged(err) {
		return err
	}
	if r.accepted, r.homes = accepted, homes; err != nil {
		r.o.Logger.Error("the state of before cannot be used", "state", r.keeper.String(), "as a whole", accepted == nil, "error", err)
		r.damaged(err)
	}
	return nil
}

// roomInterval is how long it is waited before a room that could not be reached is asked again.
const roomInterval = 2 * time.Second

// rememberAll reads what was kept in a room, which may take until it can be reached; false when the context has ended. Before
// that nothing may be answered: it could be less than others answer (G4).
func (r *Refresher) rememberAll(ctx context.Context) bool {
	if r.o.State == nil {
		return true
	}
	for {
		err := r.remember(ctx)
		if err == nil {
			return true
		}
		r.o.Logger.Warn("the state of before cannot be reached", "state", r.keeper.String(), "error", err)
		r.mu.Lock()
		r.status.Waiting = "the state of before cannot be reached: " + err.Error()
		close(r.changed)
		r.changed = make(chan struct{})
		r.mu.Unlock()
		timer := time.NewTimer(roomInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// damaged takes note of what is wrong with the state; nil of that it has been written.
func (r *Refresher) damaged(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stateProblem = ""
	if err != nil {
		r.stateProblem = limit(err.Error())
	}
}

func waitingForSource(s source.Source) string { return s.String() + " has not been read yet" }

// Start begins to watch source and facts. It returns at once; the context ends all of it, as Stop does.
func (r *Refresher) Start(ctx context.Context) {
	if r.started.Swap(true) {
		panic("refresh: started twice") //nolint:forbidigo // a mistake of the program
	}
	ctx, r.cancel = context.WithCancel(ctx)
	for _, run := range []func(context.Context){
		r.work,
		func(ctx context.Context) { r.o.Source.Watch(ctx, r.update) },
		func(ctx context.Context) { r.o.Facts.Run(ctx, r.wake) },
	} {
		r.running.Add(1)
		go func() {
			defer r.running.Done()
			run(ctx)
		}()
	}
}

// Stop ends all work, waits for it, and closes the source. The state stays readable.
func (r *Refresher) Stop() error {
	if r.cancel != nil {
		r.cancel()
	}
	r.running.Wait()
	return r.o.Source.Close()
}

// State is the newest good state, nil before the first.
func (r *Refresher) State() *generator.State { return r.state.Load() }

// Status is what is being served, and why it is not the newest.
func (r *Refresher) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Refused, s.Quarantined = slices.Clone(s.Refused), slices.Clone(s.Quarantined)
	s.StateProblem = r.stateProblem
	if r.keeper != nil {
		s.State = r.keeper.String()
	}
	if l, ok := r.o.Source.(poller); ok && s.Ready() && len(s.Refused) == 0 && l.Polled().After(s.LastSuccess) {
		s.LastSuccess = l.Polled()
	}
	return s
}

// poller is a source that reports its last successful poll: Watch is silent while nothing changes.
type poller interface{ Polled() time.Time }

// Changed is closed at the next change of Status. Ask for it before looking at Status, so as to miss nothing.
func (r *Refresher) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Trigger makes source and facts look for something new now. It does not wait.
func (r *Refresher) Trigger() {
	r.o.Source.Refresh()
	r.o.Facts.Refresh()
}

// update takes in what the source found.
func (r *Refresher) update(s *snapshot.Snapshot, err error) {
	r.mu.Lock()
	r.latest = look{done: true, snapshot: s, err: err}
	r.mu.Unlock()
	r.wake()
}

// wake asks for one more turn of the worker.
func (r *Refresher) wake() {
	select {
	case r.kick <- struct{}{}:
	default: // one is due already
	}
}

func (r *Refresher) work(ctx context.Context) {
	if !r.rememberAll(ctx) {
		return
	}
	r.wake() // facts may have been complete before the first change
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.kick:
		}
		if ctx.Err() != nil {
			return
		}
		r.turn(ctx)
	}
}

// turn takes in the newest of everything, and publishes what came of it.
func (r *Refresher) turn(ctx context.Context) {
	began := r.o.Now()
	r.mu.Lock()
	l := r.latest
	before := r.status
	r.mu.Unlock()

	next := Status{Source: before.Source, Revision: before.Revision, Since: before.Since, LastSuccess: before.LastSuccess}
	result := r.advance(l)
	agreed := result.swapped && r.o.State != nil && len(r.serving.state.Homes()) > 0
	if agreed { // before anybody is answered otherwise than by a replica
		r.keep(ctx)
	}
	if result.swapped {
		next.Revision, next.Since = r.serving.snapshot.Revision, r.o.Now()
		if before.Revision == next.Revision {
			next.Since = before.Since // facts alone
		}
	}
	next.Waiting, next.Refused = result.waiting, result.refused
	for i := range next.Refused {
		next.Refused[i].Since = began
		for _, old := range before.Refused {
			if old.same(next.Refused[i]) {
				next.Refused[i].Since = old.Since
			}
		}
	}
	next.Quarantined = before.Quarantined
	if result.swapped {
		next.Quarantined = quarantined(r.serving.state, r.o.Hub, before.Quarantined, began)
	}
	if next.Ready() && len(next.Refused) == 0 {
		next.LastSuccess = r.o.Now()
	}
	r.log(before, next, result)

	r.mu.Lock()
	if result.swapped {
		r.state.Store(r.serving.state)
	}
	r.status = next
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	if result.swapped && !agreed {
		r.keep(ctx)
		if st := r.serving.state; st != r.state.Load() { // a replica knows more of the same facts
			r.mu.Lock()
			r.state.Store(st)
			r.status.Quarantined = quarantined(st, r.o.Hub, next.Quarantined, began)
			r.mu.Unlock()
		}
	}
	if result.swapped || len(result.refused) > 0 {
		o := Outcome{Swapped: result.swapped, Refused: next.Refused, Duration: r.o.Now().Sub(began)}
		if o.Swapped {
			o.State = r.serving.state
		}
		r.o.Observe(o)
	}
}

// keep writes down what a restart goes on from. A disk that is full does not stop the service. What a replica has come to
// with the same snapshot is taken over, so that all answer the same.
func (r *Refresher) keep(ctx context.Context) {
	r.accepted = nil // it has been gone on from
	if k, is := r.o.Facts.(*KeptFacts); is {
		st := r.serving.state
		k.Forget(func(name string) bool {
			return slices.ContainsFunc(st.Fleet.Hubs(), func(hub string) bool { return st.Fleet.Member(hub, name) != nil })
		})
	}
	if r.keeper == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, roomTimeout)
	defer cancel()
	theirs, err := r.keeper.save(ctx, r.serving.snapshot, r.serving.state.Homes())
	if err == nil && theirs != nil {
		err = r.adopt(theirs)
	}
	r.damaged(err)
	if err != nil {
		r.o.Logger.Error("the accepted state cannot be kept for a restart", "state", r.keeper.String(), "error", err)
	}
}

// adopt goes on from the homes of a replica.
func (r *Refresher) adopt(homes generator.Homes) error {
	st, err := r.build(func() (*generator.State, error) { return generator.Restore(r.serving.snapshot, r.serving.facts, homes) })
	if err != nil {
		return err
	}
	r.o.Logger.Info("a replica has kept other revisions of some members; they are taken over", "revision", st.Revision, "state", r.keeper.String())
	r.serving = &serving{state: st, snapshot: r.serving.snapshot, facts: r.serving.facts}
	return nil
}

// maxTold bounds the members that one turn writes into the log.
const maxTold = 10

func (r *Refresher) log(before, next Status, result result) {
	if result.swapped {
		st := r.serving.state
		r.o.Logger.Info("serving", "revision", next.Revision, "source", next.Source, "hub", r.o.Hub,
			"members", len(st.Fleet.Members(r.o.Hub)), "errors", len(st.Errors(r.o.Hub)), "quarantined", len(next.Quarantined))
	}
	known := make(map[generator.ID]Quarantined, len(before.Quarantined))
	for _, q := range before.Quarantined {
		known[generator.ID{Hub: q.Hub, Name: q.Member}] = q
	}
	told := 0
	for _, q := range next.Quarantined {
		if known[generator.ID{Hub: q.Hub, Name: q.Member}].same(q) {
			continue
		}
		if told++; told <= maxTold {
			r.o.Logger.Warn("quarantined", "member", q.Member, "hub", q.Hub, "standing", q.Standing, "reason", q.Reason, "problem", q.Problem,
				"problems", q.Problems, "revision", q.Revision, "serving", next.Revision)
		}
	}
	if told > maxTold {
		r.o.Logger.Warn("quarantined", "moreMembers", told-maxTold, "serving", next.Revision)
	}
	for _, n := range next.Refused {
		known := false
		for _, old := range before.Refused {
			known = known || old.same(n)
		}
		if !known {
			r.o.Logger.Warn("refused", "cause", n.Cause, "reason", n.Reason, "problem", n.Problem, "problems", n.Problems,
				"revision", n.Revision, "serving", next.Revision)
		}
	}
	if next.Ready() && len(before.Refused) > 0 && len(next.Refused) == 0 {
		r.o.Logger.Info("nothing refused any more", "revision", next.Revision)
	}
}

// recovered turns a panic of the engine into an error: a repository must not be able to stop the service. The text is
// without the stack, which varies.
func (r *Refresher) recovered(err *error) {
	if p := recover(); p != nil {
		r.o.Logger.Error("panic while building a state", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = errors.New("internal error: the engine panicked; see the log")
	}
}
