package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
	"github.com/argosy-hub/argosy/internal/service/notify"
	"github.com/argosy-hub/argosy/internal/source"
)

// Defaults of Options that other packages name.
const (
	DefaultMaxWebhookBytes = 25 << 20
	DefaultMaxConcurrent   = 32
)

// MinConnections is the smallest MaxConnections.
const MinConnections = 8

// Options configure a Server. Start from Defaults; Source, Hub and TokenFile are required.
type Options struct {
	// Source is the source of the fleet repository. The server closes it.
	Source source.Source
	// Revision reads a commit of the source that a poll has skipped, for an agent in a rollout;
	// default none.
	Revision func(ctx context.Context, commit string) (*snapshot.Snapshot, error)
	// Mounts opens the repositories that the layout mounts; default none.
	Mounts func(fleet.Mount) (source.Source, error)
	// Facts provides the facts of clusters; default none: every member counts as registered.
	Facts refresh.FactsProvider
	// Hub is the hub of queries that name none.
	Hub string

	// ApplicationSets lists and refreshes the ApplicationSets whose response changes; default none.
	ApplicationSets notify.Client

	// Grants are the ownership grants of the member whose engine queries. By default, only Git
	// decides who owns a group.
	Grants Grants

	// Store keeps the state that survives a restart; default none.
	Store *store.Store
	// SourcePatience is how long the service first waits for Source before it serves the state in
	// Store; 0 for the default of package refresh.
	SourcePatience time.Duration
	// StoreFacts also keeps the facts in Store: after a restart, Kubernetes may be out of reach or
	// may have lost them.
	StoreFacts bool
	// Now is the removal budget's clock; default time.Now.
	Now func() time.Time

	// RolloutCheck carries out a check of a rollout policy; by default, a ring with checks waits.
	// RolloutCheckInterval is how often it is called; 0 for the default of package rings.
	RolloutCheck         func(context.Context, rollout.Check) rollout.CheckOutcome
	RolloutCheckInterval time.Duration
	// Silent returns why a member's API server does not respond; "" if it does, or if that is
	// unknown, as it is by default. The service ignores an engine's report on a silent member.
	Silent func(cluster string) string
	// GrantHealth returns why the health of ownership grants does not show the health of agents;
	// "" if it does, which is the default.
	GrantHealth func(context.Context) string

	// Listen is the address to listen on. Port 0 selects a free port.
	Listen string
	// TokenFile holds the bearer token that may query everything.
	TokenFile string
	// TokensFile declares tokens with their scopes, and TokensDir is the folder of their values'
	// files; default none.
	TokensFile, TokensDir string
	// TokensReload is the time after which these files are read again. A negative one reads them
	// each time.
	TokensReload time.Duration
	// TokenRate is how many requests a second one token may make, after TokenBurst requests at
	// once. A request beyond waits for MaxWait and is then refused with 429.
	TokenRate  float64
	TokenBurst int
	// TLSCert and TLSKey are PEM files; without both, the server serves plain HTTP.
	TLSCert, TLSKey string
	// TLSClientCA is a PEM file of authorities. Clients must present a certificate of one of them;
	// default none.
	TLSClientCA string

	// MaxRequestBytes and MaxResponseBytes bound bodies.
	MaxRequestBytes, MaxResponseBytes int64
	// MaxWebhookBytes bounds a webhook's signed body, which is read before its sender is known. The
	// default is GitHub's own limit.
	MaxWebhookBytes int64
	// WebhookTimeout is how long a webhook's signed body may take.
	WebhookTimeout time.Duration
	// Limits are the limits of the listener, with at least MinConnections.
	httpserver.Limits

	// DrainDelay is how long Stop still serves after /readyz has become 503; default none.
	DrainDelay time.Duration
	// ShutdownTimeout is how long Stop then waits for requests to finish.
	ShutdownTimeout time.Duration

	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Audit receives a line of JSON for each request, rotation and used approval; default none.
	Audit io.Writer
	// Registerer and Gatherer default to a registry of the server's own.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
}

// Grants are the ownership grants of the member whose engine queries the service.
type Grants interface {
	// Member returns the member's name.
	Member() string
	// Release gives back grants whose groups have no parameter sets and no workloads any more. It
	// does not wait.
	Release(grants []facts.OwnershipGrant)
	// Report publishes what the engine runs of each group, by group. It does not wait.
	Report(reports map[string]facts.GroupReport)
}

// Defaults returns Options with all defaults. By default Argo CD gives up after 30 seconds; GitHub
// gives up a webhook after 10 (docs.github.com, "Best practices for using webhooks").
func Defaults() Options {
	return Options{
		Facts: refresh.StaticFacts{}, Now: time.Now, Listen: "127.0.0.1:4355", TokensReload: access.DefaultReload,
		TokenRate: access.DefaultRate, TokenBurst: access.DefaultBurst,
		MaxRequestBytes: 1 << 20, MaxResponseBytes: 64 << 20, MaxWebhookBytes: DefaultMaxWebhookBytes,
		WebhookTimeout: 10 * time.Second, ShutdownTimeout: 15 * time.Second, Logger: slog.Default(),
		Limits: httpserver.Limits{
			ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
			MaxHeaderBytes: 32 << 10, MaxConnections: 1024, MaxConcurrent: DefaultMaxConcurrent, MaxWait: 5 * time.Second,
			FailureRate: 10, FailureBurst: 1000,
		},
	}
}

// Validate reports options that are missing or contradict each other, by the names of their flags.
func (o Options) Validate() error {
	switch {
	case o.Hub == "":
		return errors.New("--hub is required")
	case o.TokenFile == "":
		return errors.New("--token-file is required")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case o.TLSClientCA != "" && o.TLSCert == "":
		return errors.New("--tls-client-ca needs --tls-cert and --tls-key")
	case (o.TokensFile == "") != (o.TokensDir == ""):
		return errors.New("--tokens-file and --tokens-dir belong together")
	case !(o.TokenRate > 0):
		return fmt.Errorf("--token-rate %g; expected more than 0", o.TokenRate)
	case !(o.FailureRate > 0):
		return fmt.Errorf("--failure-rate %g; expected more than 0", o.FailureRate)
	case o.DrainDelay < 0:
		return fmt.Errorf("--drain-delay %s; expected 0s or more", o.DrainDelay)
	case min(o.ReadHeaderTimeout, o.ReadTimeout, o.WebhookTimeout, o.WriteTimeout, o.IdleTimeout, o.ShutdownTimeout) <= 0:
		return errors.New("a time limit is not above 0")
	case (o.Registerer == nil) != (o.Gatherer == nil):
		return errors.New("metrics need both a registerer and a gatherer")
	}
	for _, b := range []struct {
		flag         string
		value, least int64
	}{
		{"--token-burst", int64(o.TokenBurst), 1},
		{"--failure-burst", int64(o.FailureBurst), 1},
		{"--max-request-bytes", o.MaxRequestBytes, 1},
		{"--max-response-bytes", o.MaxResponseBytes, 1},
		{"--max-webhook-bytes", o.MaxWebhookBytes, 1},
		{"--max-concurrent", int64(o.MaxConcurrent), 1},
		{"--max-connections", int64(o.MaxConnections), MinConnections},
		{"the size of headers", int64(o.MaxHeaderBytes), 1},
	} {
		if b.value < b.least {
			return fmt.Errorf("%s %d; expected at least %d", b.flag, b.value, b.least)
		}
	}
	return nil
}
