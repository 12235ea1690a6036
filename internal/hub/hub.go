package hub

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

const (
	// clusterSecrets selects the Secrets that Argo CD takes for clusters (argo-cd
	// docs/operator-manual/declarative-setup.md).
	clusterSecrets   = "argocd.argoproj.io/secret-type=cluster"
	defaultNamespace = "argocd"
	// quiet is how long changes are collected, and patience the longest time if they continue.
	quiet    = 100 * time.Millisecond
	patience = time.Second
)

// Options select the API server and namespace. Config is required.
type Options struct {
	Config    *rest.Config
	Namespace string // of Argo CD, or of Flux's objects; default "argocd"
	// Log receives the full text of failures, which State.Err shortens; default none.
	Log *slog.Logger
}

// State is a snapshot of the hub's clusters and Applications at one time.
type State struct {
	// Facts are closed: a cluster without a Secret is not registered. They include the Applications
	// unless the permission is missing.
	Facts facts.Set
	// Synced reports that the first lists are complete. Before, Facts are empty, and callers must
	// not act on them.
	Synced bool
	// Err is why the API server does not answer now, nil if it does.
	Err error
	// Problems are clusters that several Secrets claim (problem.DuplicateSecret), sorted.
	Problems []problem.Problem
}

// Hub watches the cluster Secrets and the Applications of one namespace.
type Hub struct {
	secrets      *follower[clusterSecret]
	applications *follower[live]
	dirty        run.Trigger
	log          *slog.Logger

	state    atomic.Pointer[State]
	known    map[string]facts.Cluster               // clusters that have been seen, until they are forgotten; belongs to Run
	again    *time.Timer                            // reads the Applications again when a report becomes too old; belongs to Run
	isMember atomic.Pointer[func(name string) bool] // the argument of Forget since the last update
}

// New makes a Hub. It sends no request before Run.
func New(o Options) (*Hub, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	h := &Hub{dirty: run.NewTrigger(), log: o.Log, known: map[string]facts.Cluster{}}
	h.state.Store(&State{Facts: facts.NewSet(true)})
	var err error
	if h.secrets, err = followSecrets(o); err != nil {
		return nil, err
	}
	if h.applications, err = followApplications(o); err != nil {
		return nil, err
	}
	h.secrets.changed, h.applications.changed = h.dirty.Fire, h.dirty.Fire
	return h, nil
}

// defaults fills in missing options.
func (o *Options) defaults() error {
	if o.Config == nil {
		return errors.New("kubernetes: no configuration given")
	}
	o.Namespace = cmp.Or(o.Namespace, defaultNamespace)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return nil
}

// within returns the options with a limit for the time of each request.
func (o Options) within(limit time.Duration) Options {
	if o.Config != nil {
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Timeout = limit
	}
	return o
}

// Statuses returns the statuses of the Applications. Run keeps them up to date.
func (h *Hub) Statuses() *Statuses { return &Statuses{[]*follower[live]{h.applications}} }

// State returns the current state; its contents must not be changed.
func (h *Hub) State() State { return *h.state.Load() }

// Current returns the current facts, and whether they are complete.
func (h *Hub) Current() (facts.Set, bool) {
	s := h.State()
	return s.Facts, s.Synced
}

// Forget drops the facts of clusters that have neither a Secret nor a member.
func (h *Hub) Forget(isMember func(name string) bool) {
	h.isMember.Store(&isMember)
	h.dirty.Fire()
}

// Err returns State.Err.
func (h *Hub) Err() error { return h.State().Err }

// Refresh does nothing: a watch is always up to date.
func (*Hub) Refresh() {}

// Run watches until the context ends, and calls changed, which must not block, after each change of
// State. It may be called once.
func (h *Hub) Run(ctx context.Context, changed func()) {
	update(ctx, h.dirty, h.update, changed, h.secrets.run, h.applications.run)
}

// update runs watches until the context ends. Whenever they report a change, it makes the new
// state, and calls changed if the state differs.
func update(ctx context.Context, dirty run.Trigger, differs func() bool, changed func(), watches ...func(context.Context)) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, watch := range watches {
		running.Go(func() { watch(ctx) })
	}
	for settled(ctx, dirty) {
		if differs() {
			changed()
		}
	}
}

// settled waits for a change, and then for a moment without changes; false when the context has
// ended.
func settled(ctx context.Context, dirty run.Trigger) bool {
	select {
	case <-ctx.Done():
		return false
	case <-dirty:
	}
	end := time.After(patience)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-end:
			return true
		case <-time.After(quiet):
			return true
		case <-dirty:
		}
	}
}

// lookAgain has the state made again after a time; 0 for never.
func (h *Hub) lookAgain(after time.Duration) {
	if h.again != nil {
		h.again.Stop()
	}
	if after > 0 {
		h.again = time.AfterFunc(after, h.dirty.Fire)
	}
}

// update makes the new state, and reports whether it differs.
func (h *Hub) update() bool {
	old := h.state.Load()
	next := &State{Facts: old.Facts, Problems: old.Problems}
	_, next.Err = h.secrets.failure()
	denied, err := h.applications.failure()
	known := h.applications.synced()
	if next.Err == nil && (known || !denied) { // a permission that was never granted is not a failure
		next.Err = err
	}
	next.Synced = old.Synced || h.secrets.synced() && (denied || known)
	changed := next.Synced != old.Synced || textOf(next.Err) != textOf(old.Err)
	if next.Synced {
		clusters, problems := read(h.secrets.objects())
		if !slices.EqualFunc(problems, old.Problems, func(a, b problem.Problem) bool { return problem.Compare(a, b) == 0 }) {
			next.Problems, changed = problems, true
			for _, p := range problems {
				if !slices.ContainsFunc(old.Problems, func(q problem.Problem) bool { return problem.Compare(p, q) == 0 }) {
					h.log.Warn("cluster secrets", "reason", p.Reason, "problem", p.Error())
				}
			}
		}
		for name, c := range h.known { // a missing Secret removes no cluster
			c.Secret = ""
			h.known[name] = c
		}
		maps.Copy(h.known, clusters)
		if isMember := h.isMember.Swap(nil); isMember != nil {
			maps.DeleteFunc(h.known, func(name string, c facts.Cluster) bool { return c.Secret == "" && !(*isMember)(name) })
		}
		set := facts.NewSet(true, slices.Collect(maps.Values(h.known))...)
		if known {
			all, left := readApplications(h.applications.objects(), err == nil, time.Now())
			set = set.WithApplications(all...).WithHealth()
			h.lookAgain(left)
		}
		if !set.Equal(old.Facts) {
			next.Facts, changed = set, true
		}
	}
	if changed {
		h.state.Store(next)
	}
	return changed
}
