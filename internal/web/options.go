package web

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// Fleet provides the state that the service serves, which the pages show.
type Fleet interface {
	// State is nil before there is one.
	State() *fleetstate.State
	Status() refresh.Status
	// Changed is closed when State or Status have changed.
	Changed() <-chan struct{}
}

// Options configure the pages. Fleet and Tokens are required.
type Options struct {
	Fleet  Fleet
	Tokens *access.Tokens
	// Holds returns all that is held in a state; by default what Fleet's status says.
	Holds func(*fleetstate.State) []hold.Hold
	// Rollouts returns the revisions of all rings and what they wait for; default none.
	Rollouts func() rings.Report
	// Live returns the statuses of the running components; default none.
	Live func() overview.Live
	// Store keeps the timeline and the key of sessions over a restart, and shares them with
	// replicas. Default: they begin with the process.
	Store *store.Store
	// SourceURL is the address of a place in a file: a URL with {file}, {line} and {revision}, or
	// the repository's own URL at GitHub, GitLab, Gitea or Bitbucket. Empty for none.
	SourceURL string
	// Stale is how long there may be no news of the repository before its state counts as unknown.
	Stale time.Duration
	// Heartbeat is the time between two events of an open page without news.
	Heartbeat time.Duration
	// Proxies are addresses and networks of proxies that sign users in; default none. Their
	// ProxyHeader names a user's groups. The first group that is a token's name counts.
	Proxies     []string
	ProxyHeader string
	// TLS makes the listener speak HTTPS; default plain HTTP.
	TLS *tls.Config
	// VerifyClient returns nil for a connection with a good client certificate; default: none is
	// needed.
	VerifyClient func(*tls.ConnectionState) error

	Logger *slog.Logger
	Now    func() time.Time
}

// DefaultStale is the default of Options.Stale.
const DefaultStale = 10 * time.Minute

// Limits of one replica.
const (
	maxForm    = 4 << 10        // bytes of a form
	maxToken   = 1 << 10        // bytes of a token
	sessionAge = 12 * time.Hour // of a cookie
)

var limits = httpserver.Limits{
	MaxConcurrent: 16, MaxWait: 5 * time.Second, FailureRate: 1, FailureBurst: 30, MaxConnections: maxStreams + 256, MaxHeaderBytes: 16 << 10,
	ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
}

// Site serves the pages.
type Site struct {
	o           Options
	index       overview.Cache
	history     overview.History
	remembering sync.Mutex
	saved       *store.Replicated[overview.Remembered]
	sessions    *sessionKeys
	source      sourceLinks
	proxies     []netip.Prefix
	gate        *httpserver.Gate
	streams     *streams
	version     version
	handler     http.Handler
}

// New returns a Site.
func New(o Options) (*Site, error) {
	if o.Fleet == nil || o.Tokens == nil {
		return nil, errors.New("no fleet, or no tokens: nothing to show")
	}
	source, err := newSourceLinks(o.SourceURL)
	if err != nil {
		return nil, err
	}
	proxies, err := parseProxies(o.Proxies)
	if err != nil {
		return nil, err
	}
	if o.ProxyHeader == "" {
		o.ProxyHeader = DefaultProxyHeader
	}
	if o.Holds == nil {
		o.Holds = func(st *fleetstate.State) []hold.Hold { return hold.Sorted(o.Fleet.Status().Holds(st)) }
	}
	if o.Rollouts == nil {
		o.Rollouts = func() rings.Report { return rings.Report{} }
	}
	if o.Live == nil {
		o.Live = func() overview.Live { return overview.Live{} }
	}
	if o.Stale == 0 {
		o.Stale = DefaultStale
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = defaultHeartbeat
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Site{o: o, source: source, proxies: proxies, gate: httpserver.NewGate(limits, ""), streams: newStreams()}
	s.saved = s.newRecord()
	s.sessions = newSessionKeys(o)
	s.handler = s.routes()
	return s, nil
}

// ServeHTTP serves a request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }
