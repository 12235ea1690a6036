package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/order"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/responsesize"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
	"github.com/argosy-hub/argosy/internal/service/notify"
	"github.com/argosy-hub/argosy/internal/service/registry"
)

// Server responds from the newest valid state.
type Server struct {
	o              Options
	refresher      *refresh.Refresher
	guard          *guard.Guard
	responses      *response.Cache
	shared         run.Shared[sharedKey, *response.Response]
	order          *order.Order
	rings          *rings.Rings
	notifier       *notify.Notifier        // nil without ApplicationSets
	notifying      func()                  // ends the notifier
	lastKnownFacts *refresh.LastKnownFacts // nil if they are not stored
	guarding       func()                  // ends the guard, the order and the rings
	tokens         *access.Tokens
	gate           *httpserver.Gate
	clients        *httpserver.Authorities // nil if clients need no certificate
	tlsConfig      *tls.Config             // nil without TLS
	metrics        *metrics
	audit          *slog.Logger
	webhooks       *semaphore.Weighted // bounds the signed bodies in progress
	artifacts      *registry.Registry
	http           *httpserver.Server
	address        net.Addr // Start sets it
	draining       atomic.Bool
	seen           hold.Seen
	failed         chan error
	stop           sync.Once
	stopped        error
}

// New makes a server that does not listen yet. Its files of tokens and certificates must be valid.
func New(o Options) (*Server, error) {
	if o.Source == nil {
		return nil, errors.New("no source: nothing to serve")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Registerer == nil {
		registry := newRegistry()
		o.Registerer, o.Gatherer = registry, registry
	}
	s := &Server{o: o, webhooks: semaphore.NewWeighted(maxWebhooks), audit: newAuditLog(o.Audit), failed: make(chan error, 1), notifying: func() {}, guarding: func() {}}
	if s.o.Now == nil {
		s.o.Now = time.Now
	}
	s.gate = httpserver.NewGate(o.Limits, " (--max-concurrent)")
	var err error
	s.tokens, err = access.Open(access.Options{
		TokenFile: o.TokenFile, TokensFile: o.TokensFile, TokensDir: o.TokensDir, Reload: o.TokensReload,
		Rate: o.TokenRate, Burst: o.TokenBurst, Log: o.Logger, Rotated: s.rotated("token"),
	})
	if err != nil {
		return nil, err
	}
	if s.tlsConfig, err = s.tls(); err != nil {
		return nil, err
	}
	s.responses = new(response.Cache)
	s.rings = rings.New(rings.Options{
		Hub: o.Hub, Responses: s.responses, Queries: knownQueries(o, true), Store: o.Store, Now: o.Now, Logger: o.Logger, Check: o.RolloutCheck, CheckInterval: o.RolloutCheckInterval,
		Fetch: o.Revision, Report: reporter(o.Grants), Silent: o.Silent, GrantHealth: o.GrantHealth,
		Kept:  func(st *fleetstate.State) []lifecycle.Item { return s.guard.Kept(st) },
		State: func() *fleetstate.State { return s.refresher.State() }, ReadAt: func(revision string) time.Time { return s.refresher.ReadAt(revision) }, Reconsider: func() { s.refresher.Reconsider() },
	})
	s.artifacts = registry.New(s.rings.Artifact, o.MaxResponseBytes, o.Logger)
	s.order = order.New(order.Options{Desired: s.desired, Newest: func(st *fleetstate.State, q query.Query) (*response.Response, error) {
		return s.responses.Get(context.Background(), st, q)
	}, Queries: knownQueries(o, false), Store: o.Store, Now: o.Now, Logger: o.Logger})
	s.guard, err = guard.New(guard.Options{
		Hub: o.Hub, Responses: s.responses, Store: o.Store, Now: o.Now, Logger: o.Logger,
		Queries:    func(name string) guard.Queries { return requesters(o, name)[name] },
		Requesters: func() map[string]guard.Queries { return requesters(o, "") },
		Approved:   s.auditApproval, Respond: s.composed, Desired: s.desired, InRings: s.rings.HasPolicies, IsServed: s.rings.Serves,
	})
	if err != nil {
		return nil, err
	}
	s.metrics = newMetrics()
	if o.ApplicationSets != nil {
		s.notifier, err = notify.New(notify.Options{Client: o.ApplicationSets, Hub: o.Hub, Responses: s.responses, Fingerprint: s.guard.Fingerprint, Logger: o.Logger, Observe: s.metrics.notified})
		if err != nil {
			return nil, err
		}
	}
	if o.Store != nil && o.StoreFacts && o.Facts != nil {
		s.lastKnownFacts = refresh.NewLastKnownFacts(o.Facts, o.Store, o.Logger)
		o.Facts = s.lastKnownFacts
	}
	s.refresher, err = refresh.New(refresh.Options{
		Source: o.Source, Mounts: o.Mounts, Facts: o.Facts, Hub: o.Hub, Store: o.Store, Patience: o.SourcePatience, Logger: o.Logger, Observe: s.refreshed,
		Judge: responsesize.After(judge{s.guard, s.rings}, responsesize.Options{Hub: o.Hub, Queries: s.knownQueries, Responses: s.responses, Logger: o.Logger}),
	})
	if err != nil {
		return nil, err
	}
	if err := s.metrics.register(o.Registerer, s); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	s.http = httpserver.New(s.handler(), s.tlsConfig, o.Limits, o.Logger)
	return s, nil
}

// judge is the guard, which waits until the records of rollouts are known, too.
type judge struct {
	*guard.Guard
	rings *rings.Rings
}

// Await waits until both can decide. It returns false if the context ends before.
func (j judge) Await(ctx context.Context) bool { return j.Guard.Await(ctx) && j.rings.Await(ctx) }

// TLS returns the configuration of the listener, nil without a certificate, and a function that
// verifies a client's certificate, nil if clients need none. Another listener may use both.
func (s *Server) TLS() (config *tls.Config, verify func(*tls.ConnectionState) error) {
	if s.clients != nil {
		verify = s.clients.Verify
	}
	return s.tlsConfig.Clone(), verify
}

// tls returns the TLS configuration, nil without a certificate.
func (s *Server) tls() (config *tls.Config, err error) {
	if s.o.TLSCert == "" {
		return nil, nil
	}
	if s.o.TLSClientCA != "" {
		if s.clients, err = httpserver.OpenAuthorities(s.o.TLSClientCA, s.o.Logger, s.rotated("file")); err != nil {
			return nil, err
		}
	}
	return httpserver.TLS(httpserver.TLSOptions{Cert: s.o.TLSCert, Key: s.o.TLSKey, Clients: s.clients, Log: s.o.Logger, Rotated: s.rotated("file")})
}

// Start listens, and begins to watch the source. It returns when connections are accepted; /readyz
// reports when a state is served.
func (s *Server) Start(ctx context.Context) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", s.o.Listen)
	if err != nil {
		return err
	}
	s.address = listener.Addr()
	s.notify(context.WithoutCancel(ctx))
	s.guarding = background(context.WithoutCancel(ctx), s.guard.Run, s.order.Run, s.rings.Run)
	s.refresher.Start(context.WithoutCancel(ctx)) // it keeps running while the server drains
	go func() {
		if err := s.http.Serve(listener); err != nil {
			s.failed <- err
		}
	}()
	s.o.Logger.Info("listening", "address", s.Addr(), "source", s.o.Source.String(), "hub", s.o.Hub)
	return nil
}

// refreshed passes a new state on after the refresher has begun to serve it.
func (s *Server) refreshed(o refresh.Outcome) {
	s.metrics.refreshed(o)
	if o.Swapped {
		s.order.Serving(o.State)
		s.guard.Serving(o.State)
		s.rings.Serving(o.State)
	}
	if g := s.o.Grants; o.Swapped && g != nil {
		g.Release(lifecycle.ReleasableGrants(o.State, s.o.Hub, g.Member()))
	}
	if o.Swapped && s.notifier != nil {
		s.notifier.Serving(o.State)
	}
}

// notify starts the refresh of ApplicationSets whose response changes.
func (s *Server) notify(ctx context.Context) {
	if s.notifier == nil {
		return
	}
	s.notifying = background(ctx, s.notifier.Run)
}

// background runs functions until end is called, which waits for them.
func background(ctx context.Context, all ...func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, run := range all {
		running.Go(func() { run(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// Addr returns the server's URL, after Start.
func (s *Server) Addr() string {
	scheme := "http"
	if s.o.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + s.address.String()
}

// Refresher returns the refresher, which keeps the served state up to date.
func (s *Server) Refresher() *refresh.Refresher { return s.refresher }

// Tokens returns the tokens that admit requests.
func (s *Server) Tokens() *access.Tokens { return s.tokens }

// state returns the served state, or 503 before there is one. A restricted token does not get the
// cause, which may be in files of others.
func (s *Server) state(r *http.Request) (*fleetstate.State, *failure) {
	if st := s.refresher.State(); st != nil {
		return st, nil
	}
	err := s.refresher.Status().Err()
	if err == nil { // a state has just been served
		return s.refresher.State(), nil
	}
	f := &failure{Code: http.StatusServiceUnavailable, Message: err.Error(), Header: map[string]string{"Retry-After": "5"}}
	if bearerOf(r).Restricted() != nil {
		f.Message, f.Cause = withheld, f.Message
	}
	return nil, f
}

// Stop drains and ends the server. The end of the context cuts the drain delay short; requests in
// progress still have the shutdown timeout.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		s.draining.Store(true)
		s.o.Logger.Info("draining", "delay", s.o.DrainDelay)
		if s.o.DrainDelay > 0 {
			timer := time.NewTimer(s.o.DrainDelay)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
		err := s.http.Stop(ctx, s.o.ShutdownTimeout)
		s.stopped = errors.Join(err, s.refresher.Stop())
		s.notifying()
		s.guarding()
		s.o.Logger.Info("stopped")
	})
	return s.stopped
}

// Run serves until the context ends, then drains. It always closes the source. It calls started,
// unless nil, when the server listens.
func Run(ctx context.Context, o Options, started func(*Server)) error {
	s, err := New(o)
	if err != nil {
		if o.Source != nil {
			err = errors.Join(err, o.Source.Close())
		}
		return err
	}
	if err := s.Start(ctx); err != nil {
		return errors.Join(err, o.Source.Close())
	}
	if started != nil {
		started(s)
	}
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-s.failed:
		s.draining.Store(true)
	}
	return errors.Join(failure, s.Stop(context.WithoutCancel(ctx)))
}
