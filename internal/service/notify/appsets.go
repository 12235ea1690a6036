package notify

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

const (
	// maxStates bounds the states that wait to be compared.
	maxStates = 8
	// firstDelay and maxDelay bound the delay before a failed refresh is retried.
	firstDelay = time.Second
	maxDelay   = time.Minute
	// failedDelay is how long an ApplicationSet must report a failure before it is pending.
	failedDelay = 2 * time.Second
	// timeout bounds one request.
	timeout = 10 * time.Second
)

// Client lists and refreshes Argo CD's ApplicationSets.
type Client interface {
	// Run keeps List up to date until the context ends. It calls changed, which does not block,
	// after changes.
	Run(ctx context.Context, changed func())
	// List returns the ApplicationSets that query this service, and whether these are all of them.
	List() (sets []facts.ApplicationSet, complete bool)
	// Refresh makes Argo CD refresh an ApplicationSet, which may be gone. The error has the same
	// text for the same cause.
	Refresh(ctx context.Context, name string) error
}

// Options of a Notifier. Client is required.
type Options struct {
	Client Client
	// Hub is the hub of queries that name none.
	Hub string
	// Responses is the cache of responses; the service may share its own. The default is a new one.
	Responses *response.Cache
	// Fingerprint returns the same text for two states with the same response; default
	// Responses.Fingerprint.
	Fingerprint func(*fleetstate.State, query.Query) string
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Observe, if set, is called after each refresh.
	Observe func(error)
}

// Notifier compares states and makes Argo CD refresh ApplicationSets.
type Notifier struct {
	o    Options
	news run.Trigger

	mu    sync.Mutex
	queue []*fleetstate.State // not compared yet, oldest first
	all   bool                // all are pending

	// Only Run uses the fields below.
	last    *fleetstate.State
	pending map[string]*refresh
	failing map[string]*refresh // report a failure; at is when they are pending next
	logged  string              // the failure that was logged last
}

// refresh is the time of the next refresh of an ApplicationSet, and its delay.
type refresh struct {
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
	if o.Responses == nil {
		o.Responses = new(response.Cache)
	}
	if o.Fingerprint == nil {
		o.Fingerprint = o.Responses.Fingerprint
	}
	if o.Observe == nil {
		o.Observe = func(error) {}
	}
	return &Notifier{o: o, news: run.NewTrigger(), all: true, pending: map[string]*refresh{}, failing: map[string]*refresh{}}, nil
}

// Serving queues a state that the service has begun to serve. It does not wait.
func (n *Notifier) Serving(st *fleetstate.State) {
	n.mu.Lock()
	n.queue = append(n.queue, st)
	if len(n.queue) > maxStates {
		n.skip()
	}
	n.mu.Unlock()
	n.news.Fire()
}

// skip drops all states but the newest and makes all ApplicationSets pending. The caller holds the
// lock.
func (n *Notifier) skip() {
	if len(n.queue) > 1 {
		n.queue, n.all = []*fleetstate.State{n.queue[len(n.queue)-1]}, true
	}
}

// Run compares states and refreshes ApplicationSets until the context ends. It may be called once.
func (n *Notifier) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { n.o.Client.Run(ctx, n.news.Fire) })
	for ctx.Err() == nil {
		n.compare()
		n.markFailing()
		name, at := first(n.pending)
		if name != "" && time.Until(at) <= 0 {
			n.refresh(ctx, name) // one at a time: there may be a newer state after it
			continue
		}
		if failed, later := first(n.failing); failed != "" && (name == "" || later.Before(at)) {
			name, at = failed, later
		}
		n.sleep(ctx, name != "", time.Until(at))
	}
}

// sleep waits for news, for at most wait if limited.
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

// compare marks the ApplicationSets whose responses the queued states change. It does nothing until
// all ApplicationSets are known.
func (n *Notifier) compare() {
	n.mu.Lock()
	waiting := len(n.queue) > 0
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
	queue, all := n.queue, n.all
	n.queue, n.all = nil, false
	n.mu.Unlock()

	found := 0
	for _, st := range queue {
		arrived := n.arrived(st)
		for _, s := range sets {
			if (all || s.Templated || n.differs(s, st, arrived)) && n.mark(s.Name) {
				found++
			}
		}
		n.last, all = st, false
	}
	if found > 0 {
		n.o.Logger.Info("responses differ", "applicationSets", found, "of", len(sets), "revision", n.last.Revision)
	}
}

// markFailing marks ApplicationSets that report a failure, with growing delays.
func (n *Notifier) markFailing() {
	sets, complete := n.o.Client.List()
	if !complete || n.last == nil {
		return // no state is served yet
	}
	failed := map[string]*refresh{}
	for _, s := range sets {
		if !s.Failed {
			continue
		}
		r := n.failing[s.Name]
		if r == nil {
			r = &refresh{at: time.Now().Add(failedDelay), delay: failedDelay}
		} else if time.Until(r.at) <= 0 {
			n.mark(s.Name)
			r.delay = min(2*r.delay, maxDelay)
			r.at = time.Now().Add(r.delay)
		}
		failed[s.Name] = r
	}
	n.failing = failed
}

// mark makes an ApplicationSet pending, and reports whether it was not.
func (n *Notifier) mark(name string) bool {
	if n.pending[name] != nil {
		return false
	}
	n.pending[name] = &refresh{at: time.Now()}
	return true
}

// arrived returns the clusters that have been registered since the last state.
func (n *Notifier) arrived(st *fleetstate.State) []string {
	if n.last == nil {
		return nil // all are pending
	}
	return st.Facts().Arrived(n.last.Facts())
}

// differs reports whether a state changes a response to an ApplicationSet, or the response deploys
// to a newly registered cluster.
func (n *Notifier) differs(s facts.ApplicationSet, st *fleetstate.State, arrived []string) bool {
	for _, parameters := range s.Requests {
		r, err := query.Parse(parameters, n.o.Hub)
		if err != nil {
			continue // every state refuses it
		}
		r.ApplicationSet = s.Name
		if n.fingerprint(n.last, r) != n.fingerprint(st, r) || n.deploysTo(st, r, arrived) {
			return true
		}
	}
	return false
}

// fingerprint returns the fingerprint of a state's response. It is the same for all responses that
// panic: the next query reports the panic.
func (n *Notifier) fingerprint(st *fleetstate.State, r query.Query) (text string) {
	if run.Caught(n.o.Logger, "computing a response", func() { text = n.o.Fingerprint(st, r) }) {
		return "panic"
	}
	return text
}

// deploysTo reports whether a state's response deploys to one of the clusters. A response that
// panics does not.
func (n *Notifier) deploysTo(st *fleetstate.State, r query.Query, clusters []string) (is bool) {
	run.Caught(n.o.Logger, "computing a response", func() { is = n.o.Responses.DeploysTo(st, r, clusters) })
	return is
}

// first returns the earliest refresh, if any.
func first(pending map[string]*refresh) (name string, at time.Time) {
	for other, r := range pending {
		if c := r.at.Compare(at); name == "" || c < 0 || c == 0 && strings.Compare(other, name) < 0 {
			name, at = other, r.at
		}
	}
	return name, at
}

// refresh makes Argo CD refresh an ApplicationSet. A failure is retried with a growing delay.
func (n *Notifier) refresh(ctx context.Context, name string) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	err := n.o.Client.Refresh(limited, name)
	cancel()
	if ctx.Err() != nil {
		return
	}
	n.o.Observe(err)
	if err == nil {
		delete(n.pending, name)
		if len(n.pending) == 0 && n.logged != "" {
			n.o.Logger.Info("applicationsets have been refreshed again")
			n.logged = ""
		}
		n.o.Logger.Debug("refreshed", "applicationSet", name)
		return
	}
	if text := err.Error(); text != n.logged {
		n.o.Logger.Warn("an applicationset cannot be refreshed; the refresh is retried",
			"applicationSet", name, "error", err)
		n.logged = text
	}
	r := n.pending[name]
	r.delay = min(max(2*r.delay, firstDelay), maxDelay)
	r.at = time.Now().Add(r.delay)
}
