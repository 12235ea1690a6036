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

	// What follows belongs to the worker: what is served, what was served before a restart, and what is written down.
	serving  *serving
	accepted *snapshot.Snapshot
	homes    generator.Homes
	kept     kept
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
	if o.StateFile != "" {
		var err error
		if r.accepted, r.homes, err = restore(o.StateFile, &r.kept); err != nil {
			o.Logger.Error("the state of before cannot be used", "file", o.StateFile, "as a whole", r.accepted == nil, "error", err)
		}
	}
	return r, nil
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
	if l, ok := r.o.Source.(looker); ok && s.Ready() && len(s.Refused) == 0 && l.Looked().After(s.LastSuccess) {
		s.LastSuccess = l.Looked()
	}
	return s
}

// looker is a source that tells when it last looked and found nothing wrong: Watch is silent while nothing changes.
type looker interface{ Looked() time.Time }

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
		r.turn()
	}
}

// turn takes in the newest of everything, and publishes what came of it.
func (r *Refresher) turn() {
	began := r.o.Now()
	r.mu.Lock()
	l := r.latest
	before := r.status
	r.mu.Unlock()

	next := Status{Source: before.Source, Revision: before.Revision, Since: before.Since, LastSuccess: before.LastSuccess}
	result := r.advance(l)
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
	if result.swapped {
		r.keep()
	}
	if result.swapped || len(result.refused) > 0 {
		o := Outcome{Swapped: result.swapped, Refused: next.Refused, Duration: r.o.Now().Sub(began)}
		if o.Swapped {
			o.State = r.serving.state
		}
		r.o.Observe(o)
	}
}

// keep writes down what a restart goes on from. A disk that is full does not stop the service.
func (r *Refresher) keep() {
	r.accepted = nil // it has been gone on from
	if r.o.StateFile == "" {
		return
	}
	if err := save(r.o.StateFile, r.serving.snapshot, r.serving.state.Homes(), &r.kept); err != nil {
		r.o.Logger.Error("the accepted state cannot be kept for a restart", "file", r.o.StateFile, "error", err)
	}
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
