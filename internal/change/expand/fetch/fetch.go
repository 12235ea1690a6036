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

	"github.com/Masterminds/semver/v3"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// The limits (rule 4), in bytes but for the last four. Those of Git repositories are
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
	// Repositories, Registry and Docker are the files with credentials; default those that Helm and
	// Docker use.
	Repositories, Registry, Docker string
	// Allowed are what the flag --allow names (rule 9).
	Allowed []string
}

// Charts gets charts. It may be used by several goroutines.
type Charts struct {
	ctx   context.Context // of the run: expand's interfaces have none
	o     Options
	cache cache
	lock  *os.File // of the cache
	slots chan struct{}
	end   time.Time
	total atomic.Int64

	mu      sync.Mutex
	charts  map[source.Reference]func() (source.Archive, error)
	indexes map[string]func() (index, error)
	others  map[[2]string]func() (*git.Remote, error)
	places  map[source.Place]func() (*snapshot.Snapshot, error)
	values  map[string]func() ([]byte, error)

	logins logins
	policy policy
	plain  http.RoundTripper // without certificates of a repository
}

// New makes one for a run, which ends with the context.
func New(ctx context.Context, o Options) (*Charts, error) {
	c := &Charts{
		ctx: ctx, o: o, cache: cache{o.Dir}, slots: make(chan struct{}, maxAtOnce), end: time.Now().Add(maxRun),
		charts: map[source.Reference]func() (source.Archive, error){}, indexes: map[string]func() (index, error){},
		others: map[[2]string]func() (*git.Remote, error){}, places: map[source.Place]func() (*snapshot.Snapshot, error){},
		values: map[string]func() ([]byte, error){},
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
	c.lock = c.cache.use()
	return c, nil
}

// Close ends a run: what is too much in the cache is removed.
func (c *Charts) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, get := range c.others {
		if other, err := get(); err == nil {
			_ = other.Close() // of a file that nothing has been written to
		}
	}
	c.cache.prune(c.lock, maxKept)
}

// Chart is a chart's archive, without a check of the address. Its error is a *source.Unavailable.
func (c *Charts) Chart(r source.Reference) (source.Archive, error) {
	return once(c, c.charts, r, func() (source.Archive, error) {
		a, err := c.chart(r)
		if err != nil {
			err = explained(err)
		}
		return a, err
	})
}

// once returns the value of a key, which it finds once; other callers wait meanwhile (rule 5).
func once[K comparable, V any](c *Charts, in map[K]func() (V, error), key K, find func() (V, error)) (V, error) {
	c.mu.Lock()
	known := in[key]
	if known == nil {
		known = sync.OnceValues(find)
		in[key] = known
	}
	c.mu.Unlock()
	return known()
}

// exact reports whether a version is one and no range.
func exact(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return err == nil
}

func (c *Charts) chart(r source.Reference) (source.Archive, error) {
	where, err := locate(r)
	if err != nil {
		return source.Archive{}, err
	}
	shelf := c.cache.shelf(r)
	if exact(r.Version) || c.o.Offline {
		kept, err := shelf.find(r.Version)
		if kept != nil || err != nil || c.o.Offline {
			return c.archive(kept, err)
		}
	}
	ctx, done := c.slot(maxChart)
	defer done()
	kept, err := where.get(ctx, c, r, shelf)
	return c.archive(kept, err)
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

func (c *Charts) archive(kept *kept, err error) (source.Archive, error) {
	if err != nil {
		return source.Archive{}, err
	}
	if kept == nil {
		return source.Archive{}, notKept()
	}
	return source.Archive{Digest: kept.digest, Version: kept.version, Open: kept.read}, nil
}

// notKept is why there is nothing offline.
func notKept() error {
	return &source.Unavailable{Detail: "it is not in the cache, and nothing is fetched with --offline", Hint: "once without --offline fetches it"}
}

// place is where a chart is.
type place interface {
	// get finds a version and keeps it; the shelf may have it already.
	get(ctx context.Context, c *Charts, r source.Reference, s shelf) (*kept, error)
}

// locate tells Helm repositories from registries as Argo CD does (argo-cd v2.14,
// util/helm/client.go, IsHelmOciRepo).
func locate(r source.Reference) (place, error) {
	scheme, rest, found := strings.Cut(r.RepoURL, "://")
	switch {
	case !found:
		return registry{strings.TrimSuffix(r.RepoURL, "/")}, nil
	case scheme == "oci":
		return registry{strings.TrimSuffix(rest, "/")}, nil
	case scheme == "http", scheme == "https":
		u, err := url.Parse(strings.TrimSuffix(r.RepoURL, "/"))
		if err != nil { // its text quotes the URL
			return nil, errors.New("the repository's URL cannot be parsed")
		}
		return repository{u}, nil
	}
	return nil, fmt.Errorf("charts are not fetched by %s", scheme)
}

// spend counts bytes that are fetched.
func (c *Charts) spend(n int) error {
	if total := c.total.Add(int64(n)); total > maxTotal {
		return fmt.Errorf("this run has fetched %d bytes; the limit is %d", total, int64(maxTotal))
	}
	return nil
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
