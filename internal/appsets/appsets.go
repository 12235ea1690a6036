package appsets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/trigger"
)

const (
	// maxStates bounds how many states wait to be compared.
	maxStates = 8
	// firstDelay and maxDelay are how long a failure waits to be tried again.
	firstDelay = time.Second
	maxDelay   = time.Minute
	// failedDelay is how long an ApplicationSet reports a failure before it is due.
	failedDelay = 2 * time.Second
	// timeout bounds one request.
	timeout = 10 * time.Second
)

// ApplicationSet is what an ApplicationSet asks us.
type ApplicationSet struct {
	Name string
	// Requests are the input.parameters that Argo CD sends for it.
	Requests []json.RawMessage
	// Templated tells that it sends more than Requests, which Argo CD alone knows.
	Templated bool
	// Failed tells that Argo CD could not make its Applications when it asked last.
	Failed bool
}

// Client is Argo CD, as far as it is needed here.
type Client interface {
	// Run keeps List up to date and calls changed, which does not block, after changes, until the context ends.
	Run(ctx context.Context, changed func())
	// List are the ApplicationSets that ask us, and whether that is all of them.
	List() (sets []ApplicationSet, complete bool)
	// Refresh makes Argo CD ask anew for one, which may have gone. The error has the same text for the same cause.
	Refresh(ctx context.Context, name string) error
}

// Options say whom to tell. Client is required.
type Options struct {
	Client Client
	// Hub is the hub of requests that name none.
	Hub string
	// Fingerprint is the same text for two states that are answered from alike; default generator.State's own.
	Fingerprint func(*generator.State, generator.Request) string
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Observe is called after each request to refresh.
	Observe func(error)
}

// Notifier compares states and asks Argo CD to refresh.
type Notifier struct {
	o    Options
	news trigger.Trigger

	mu    sync.Mutex
	taken []*generator.State // not compared yet, oldest first
	all   bool               // all are due

	// These belong to Run.
	last *generator.State
	due  map[string]*request
	fail map[string]*request // those that report a failure, and when they are due
	told string              // the failure that has been logged
}

// request is a refresh that is due.
type request struct {
	at    time.Time
	delay time.Duration
}

// New makes a Notifier that does nothing yet.
func New(o Options) (*Notifier, error) {
	if o.Client == nil {
		return nil, errors.New("appsets: no client")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Fingerprint == nil {
		o.Fingerprint = (*generator.State).Fingerprint
	}
	if o.Observe == nil {
		o.Observe = func(error) {}
	}
	return &Notifier{o: o, news: trigger.New(), all: true, due: map[string]*request{}, fail: map[string]*request{}}, nil
}

// Serving tells that a state is being served from now on (rule 1). It does not wait.
func (n *Notifier) Serving(st *generator.State) {
	n.mu.Lock()
	n.taken = append(n.taken, st)
	if len(n.taken) > maxStates {
		n.skip()
	}
	n.mu.Unlock()
	n.news.Fire()
}

// skip leaves all states but the newest uncompared (rule 3). The caller holds the lock.
func (n *Notifier) skip() {
	if len(n.taken) > 1 {
		n.taken, n.all = []*generator.State{n.taken[len(n.taken)-1]}, true
	}
}

// Run compares and asks until the context ends. It may be called once.
func (n *Notifier) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { n.o.Client.Run(ctx, n.news.Fire) })
	for ctx.Err() == nil {
		n.compare()
		n.heal()
		name, at := first(n.due)
		if name != "" && time.Until(at) <= 0 {
			n.ask(ctx, name) // one; then there may be a newer state
			continue
		}
		if failed, later := first(n.fail); failed != "" && (name == "" || later.Before(at)) {
			name, at = failed, later
		}
		n.sleep(ctx, name != "", time.Until(at))
	}
}

// sleep waits for something new, at most so long if there is a limit.
func (n *Notifier) sleep(ctx context.Context, limited bool, wait time.Duration) {
	var timeout <-chan time.Time
	if limited {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-ctx.Done():
	case <-n.news:
	case <-timeout:
	}
}

// compare finds out what is due because of the states that have come (rules 2, 3 and 5).
func (n *Notifier) compare() {
	n.mu.Lock()
	waiting := len(n.taken) > 0
	n.mu.Unlock()
	if !waiting {
		return
	}
	sets, complete := n.o.Client.List()
	n.mu.Lock()
	if !complete {
		n.skip()
		n.mu.Unlock()
		return
	}
	taken, all := n.taken, n.all
	n.taken, n.all = nil, false
	n.mu.Unlock()

	found := 0
	for _, st := range taken {
		arrived := n.arrived(st)
		for _, s := range sets {
			if (all || s.Templated || n.differs(s, st, arrived)) && n.mark(s.Name) {
				found++
			}
		}
		n.last, all = st, false
	}
	if found > 0 {
		n.o.Logger.Info("answers differ", "applicationSets", found, "of", len(sets), "revision", n.last.Revision)
	}
}

// heal makes those due that report a failure, later and later (rule 7).
func (n *Notifier) heal() {
	sets, complete := n.o.Client.List()
	if !complete || n.last == nil {
		return // nothing is served yet that could be asked for
	}
	failed := map[string]*request{}
	for _, s := range sets {
		if !s.Failed {
			continue
		}
		r := n.fail[s.Name]
		if r == nil {
			r = &request{at: time.Now().Add(failedDelay), delay: failedDelay}
		} else if time.Until(r.at) <= 0 {
			n.mark(s.Name)
			r.delay = min(2*r.delay, maxDelay)
			r.at = time.Now().Add(r.delay)
		}
		failed[s.Name] = r
	}
	n.fail = failed
}

// mark makes an ApplicationSet due, and tells whether it was not.
func (n *Notifier) mark(name string) bool {
	if n.due[name] != nil {
		return false
	}
	n.due[name] = &request{at: time.Now()}
	return true
}

// arrived are the clusters that have been registered since the last state.
func (n *Notifier) arrived(st *generator.State) []string {
	if n.last == nil {
		return nil // all are due
	}
	return st.Arrived(n.last)
}

// differs tells whether a state answers an ApplicationSet otherwise than the last one, or alike and with a cluster that
// has arrived (rule 2).
func (n *Notifier) differs(s ApplicationSet, st *generator.State, arrived []string) bool {
	for _, parameters := range s.Requests {
		r, err := generator.ParseRequest(parameters, n.o.Hub)
		if err != nil {
			continue // refused by whatever state
		}
		r.ApplicationSet = s.Name
		if n.fingerprint(n.last, r) != n.fingerprint(st, r) || st.DeploysTo(r, arrived) {
			return true
		}
	}
	return false
}

// fingerprint is what a state answers. A panic of the engine is no reason to stop the service; who asks is told so.
func (n *Notifier) fingerprint(st *generator.State, r generator.Request) (text string) {
	defer func() {
		if p := recover(); p != nil {
			n.o.Logger.Error("panic while computing an answer", "panic", fmt.Sprint(p))
			text = "panic"
		}
	}()
	return n.o.Fingerprint(st, r)
}

// first is the request that is due first, if any.
func first(due map[string]*request) (name string, at time.Time) {
	for other, r := range due {
		if c := r.at.Compare(at); name == "" || c < 0 || c == 0 && strings.Compare(other, name) < 0 {
			name, at = other, r.at
		}
	}
	return name, at
}

// ask makes Argo CD refresh an ApplicationSet (rule 4).
func (n *Notifier) ask(ctx context.Context, name string) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	err := n.o.Client.Refresh(limited, name)
	cancel()
	if ctx.Err() != nil {
		return
	}
	n.o.Observe(err)
	if err == nil {
		delete(n.due, name)
		if len(n.due) == 0 && n.told != "" {
			n.o.Logger.Info("applicationsets have been refreshed again")
			n.told = ""
		}
		n.o.Logger.Debug("refreshed", "applicationSet", name)
		return
	}
	if text := err.Error(); text != n.told {
		n.o.Logger.Warn("an applicationset cannot be refreshed; it is tried again, and asks by itself at its next requeue",
			"applicationSet", name, "error", err)
		n.told = text
	}
	r := n.due[name]
	r.delay = min(max(2*r.delay, firstDelay), maxDelay)
	r.at = time.Now().Add(r.delay)
}
