package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"helm.sh/helm/v3/pkg/repo"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// The limits (rule 3), in bytes but for the last four. Those of Git repositories are
// internal/source's.
const (
	maxArchive  = 20 << 20
	maxIndex    = 64 << 20
	maxManifest = 4 << 20
	maxTotal    = 1 << 30
	maxAtOnce   = 8
	maxChart    = time.Minute
	maxGit      = 5 * time.Minute
	maxRun      = 10 * time.Minute
)

// Options say where charts are kept. Dir is required.
type Options struct {
	// Dir is made unless Offline.
	Dir     string
	Offline bool
	// Repositories is the file with credentials of repositories; default the one that Helm uses.
	Repositories string
	// Allowed are what the flag --allow names (rule 8).
	Allowed []string
}

// Charts gets charts. It may be used by several goroutines.
type Charts struct {
	ctx   context.Context // of the run: expand's interfaces have none
	o     Options
	slots chan struct{}
	end   time.Time
	total atomic.Int64

	charts  memo[source.Reference, source.Archive]
	indexes memo[string, *repo.IndexFile]
	others  memo[[2]string, *git.Remote]
	places  memo[source.Place, *snapshot.Snapshot]
	values  memo[string, []byte]

	logins logins
	policy policy
	plain  http.RoundTripper // without certificates of a repository
}

// New makes one for a run, which ends with the context.
func New(ctx context.Context, o Options) (*Charts, error) {
	c := &Charts{
		ctx: ctx, o: o, slots: make(chan struct{}, maxAtOnce), end: time.Now().Add(maxRun),
		policy: policy{allowed: o.Allowed, named: map[string]bool{}, hosts: map[string]bool{}},
	}
	c.plain = c.transport(nil)
	if !o.Offline {
		var err error
		if c.logins, err = readLogins(o); err != nil {
			return nil, err
		}
		_ = os.MkdirAll(o.Dir, 0o700) // that it cannot be made is said when something is to be kept
	}
	return c, nil
}

// Close ends a run.
func (c *Charts) Close() {
	for _, get := range c.others.found {
		if other, err := get(); err == nil {
			_ = other.Close() // of a file that nothing has been written to
		}
	}
}

// Chart is a chart's archive, without a check of the address. Its error is a *source.Unavailable.
func (c *Charts) Chart(r source.Reference) (source.Archive, error) {
	return c.charts.get(r, func() (source.Archive, error) {
		a, err := c.chart(r)
		if err != nil {
			err = explained(err)
		}
		return a, err
	})
}

// memo finds the value of each key once; other callers wait meanwhile (rule 4).
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	found map[K]func() (V, error)
}

func (m *memo[K, V]) get(key K, find func() (V, error)) (V, error) {
	m.mu.Lock()
	known := m.found[key]
	if known == nil {
		if m.found == nil {
			m.found = map[K]func() (V, error){}
		}
		known = sync.OnceValues(find)
		m.found[key] = known
	}
	m.mu.Unlock()
	return known()
}

func (c *Charts) chart(r source.Reference) (source.Archive, error) {
	var kept *source.Archive
	var err error
	s := c.shelf(r)
	if exact(r.Version) || c.o.Offline {
		kept, err = s.find(r.Version)
	}
	if kept == nil && err == nil {
		kept, err = c.fetch(r, s)
	}
	if err != nil {
		return source.Archive{}, err
	}
	return *kept, nil
}

// fetch finds a version and keeps it, unless the shelf has it already. It tells Helm repositories
// from registries as Argo CD does (argo-cd v2.14, util/helm/client.go, IsHelmOciRepo).
func (c *Charts) fetch(r source.Reference, s shelf) (*source.Archive, error) {
	if c.o.Offline {
		return nil, notKept()
	}
	ctx, done := c.slot(maxChart)
	defer done()
	switch scheme, _, found := strings.Cut(r.RepoURL, "://"); {
	case !found, scheme == "oci":
		return c.fromRegistry(ctx, r, s)
	case scheme == "http", scheme == "https":
		return c.fromRepository(ctx, r, s)
	default:
		return nil, fmt.Errorf("charts are not fetched by %s", scheme)
	}
}

// slot waits for its turn to query a server, which takes so long at most.
func (c *Charts) slot(limit time.Duration) (ctx context.Context, done func()) {
	c.slots <- struct{}{}
	ctx, cancel := context.WithTimeout(c.ctx, min(limit, time.Until(c.end)))
	return ctx, func() {
		cancel()
		<-c.slots
	}
}

// notKept is why there is nothing offline.
func notKept() error {
	return &source.Unavailable{Detail: "it is not in the cache, and nothing is fetched with --offline", Hint: "once without --offline fetches it"}
}

// explained is an error for people. Of what the network says, the URL is left out: it may be one
// that a server redirected to, with a signature in it.
func explained(err error) error {
	var known *source.Unavailable
	var of *url.Error
	var network net.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &source.Unavailable{Detail: "the server took too long", Hint: "--offline renders what the cache has"}
	case errors.Is(err, context.Canceled):
		return &source.Unavailable{Detail: "the run has been ended"}
	case errors.As(err, &of):
		return &source.Unavailable{Detail: "the server cannot be reached: " + of.Err.Error(), Hint: "--offline renders what the cache has"}
	}
	return &source.Unavailable{Detail: err.Error()}
}
