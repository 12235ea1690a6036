package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/argosy-hub/argosy/internal/access"
	"github.com/argosy-hub/argosy/internal/appsets"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/state"
)

// Defaults of Options.
const (
	DefaultListen           = "127.0.0.1:4355"
	DefaultMaxRequestBytes  = 1 << 20
	DefaultMaxResponseBytes = 64 << 20
	DefaultMaxWebhookBytes  = 25 << 20
	DefaultMaxConcurrent    = 32
	DefaultMaxConnections   = 1024
	DefaultMaxWait          = 5 * time.Second
	DefaultShutdownTimeout  = 15 * time.Second
)

// Defaults of the time limits and of the size of a request's header. Argo CD gives up after 30 seconds by default; GitHub
// does after 10, with a webhook (docs.github.com, "Best practices for using webhooks").
const (
	DefaultReadHeaderTimeout = 5 * time.Second
	DefaultReadTimeout       = 30 * time.Second
	DefaultWebhookTimeout    = 10 * time.Second
	DefaultWriteTimeout      = 60 * time.Second
	DefaultIdleTimeout       = 2 * time.Minute
	DefaultMaxHeaderBytes    = 32 << 10
)

// MinConnections is the least MaxConnections that leaves room for probes beside requests.
const MinConnections = 8

// maxStreams bounds the requests that one HTTP/2 connection makes at once.
const maxStreams = 32

// Options say what to serve. Source, Hub and TokenFile are required; everything else has a default.
type Options struct {
	// Source is where the repository comes from; the server closes it.
	Source source.Source
	// Facts are what is known of clusters; default none: every member counts as registered.
	Facts refresh.FactsProvider
	// Hub is the hub of requests that name none.
	Hub string

	// ApplicationSets are told to ask anew when their answer has changed; default none.
	ApplicationSets appsets.Client

	// Grants are told of which of them the member's engine has nothing any more; default none: Git alone says who owns what.
	Grants Grants

	// StateFile keeps the last accepted snapshot across restarts; default none.
	StateFile string
	// AnswersDir keeps what was answered last across restarts, for the removal budget; default none.
	AnswersDir string
	// State keeps both in a room that replicas share, in place of StateFile and AnswersDir; default none.
	State state.Room
	// FactsState keeps what is known of clusters across restarts; default none.
	FactsState state.Room
	// Now is the removal budget's clock; default time.Now.
	Now func() time.Time

	// Listen is the address to listen on; default DefaultListen. Port 0 takes a free one.
	Listen string
	// TokenFile holds the bearer token that may ask everything.
	TokenFile string
	// TokensFile declares tokens that may ask some things, and TokensDir has the files that hold them; default none.
	TokensFile, TokensDir string
	// TokensReload is how long all of these are not looked at again; default access.DefaultReload. A negative one looks each time.
	TokensReload time.Duration
	// TokenRate and TokenBurst are how many requests a second the bearer of a token may make, and how many before that
	// counts; beyond, a request waits for MaxWait and is refused with 429. Default access.DefaultRate and DefaultBurst.
	TokenRate  float64
	TokenBurst int
	// FailureRate and FailureBurst are the same for requests without a good token from one address, which do not wait.
	FailureRate  float64
	FailureBurst int
	// TLSCert and TLSKey are PEM files; without both, the server speaks plain HTTP.
	TLSCert, TLSKey string
	// TLSClientCA is a PEM file of authorities, of one of which clients have to present a certificate; default none.
	TLSClientCA string

	// MaxRequestBytes and MaxResponseBytes bound bodies.
	MaxRequestBytes, MaxResponseBytes int64
	// MaxWebhookBytes bounds a webhook's signed body, which is read before anybody is known to have sent it. It is not
	// kept. The default is GitHub's own limit.
	MaxWebhookBytes int64
	// MaxHeaderBytes bounds headers (net/http adds 4 KiB); beyond, 431.
	MaxHeaderBytes int
	// WebhookTimeout is how long a webhook's signed body may take.
	WebhookTimeout time.Duration
	// ReadHeaderTimeout, ReadTimeout and WriteTimeout are how long a header, a whole request and an answer may take;
	// IdleTimeout, how long a connection waits for the next request.
	ReadHeaderTimeout, ReadTimeout, WriteTimeout, IdleTimeout time.Duration
	// MaxConcurrent bounds how many requests of the API are worked on at once; MaxWait is how long another waits for its
	// turn before it is refused with 429. A negative MaxWait does not wait.
	MaxConcurrent int
	MaxWait       time.Duration
	// MaxConnections bounds how many connections are open at once, at least MinConnections. Beyond, the one that has waited
	// for longest for its next request or a whole header is closed. Some are kept for probes and metrics: other requests
	// than those are refused with 503 when only 64 are left, or a quarter of fewer than 256.
	MaxConnections int

	// DrainDelay is how long Stop goes on answering after /readyz has turned to 503; default none.
	DrainDelay time.Duration
	// ShutdownTimeout is how long Stop then waits for requests to finish.
	ShutdownTimeout time.Duration

	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Registerer and Gatherer default to a registry of the server's own.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
}

// Grants are those of the member whose engine the service answers.
type Grants interface {
	// Member is the member's name.
	Member() string
	// Release tells of grants that are to go that nothing of their groups is answered or there any more. It does not wait.
	Release(grants []facts.Grant)
}

// withDefaults fills in what is not given and refuses what cannot be served.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Source == nil:
		return o, errors.New("no source: nothing to serve")
	case o.Hub == "":
		return o, errors.New("no hub: whose members are to be served?")
	case o.TokenFile == "":
		return o, errors.New("no token file: the API does not work without a token")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return o, errors.New("TLS needs both a certificate and a key")
	case o.TLSClientCA != "" && o.TLSCert == "":
		return o, errors.New("client certificates need TLS: a certificate and a key")
	case (o.TokensFile == "") != (o.TokensDir == ""):
		return o, errors.New("tokens need both a file that declares them and a folder that holds them")
	case o.State != nil && (o.StateFile != "" || o.AnswersDir != ""):
		return o, errors.New("state is kept either in a room or in files")
	case (o.Registerer == nil) != (o.Gatherer == nil):
		return o, errors.New("metrics need both a registerer and a gatherer")
	}
	for _, b := range []struct {
		name  string
		value int64
	}{
		{"largest request", o.MaxRequestBytes},
		{"largest answer", o.MaxResponseBytes},
		{"largest webhook", o.MaxWebhookBytes},
		{"number of concurrent requests", int64(o.MaxConcurrent)},
		{"token rate", int64(math.Floor(o.TokenRate))},
		{"token burst", int64(o.TokenBurst)},
		{"failure rate", int64(math.Floor(o.FailureRate))},
		{"failure burst", int64(o.FailureBurst)},
		{"largest header", int64(o.MaxHeaderBytes)},
		{"time to read a header", int64(o.ReadHeaderTimeout)},
		{"time to read a request", int64(o.ReadTimeout)},
		{"time to read a webhook", int64(o.WebhookTimeout)},
		{"time to write an answer", int64(o.WriteTimeout)},
		{"time to wait for a request", int64(o.IdleTimeout)},
		{"drain delay", int64(o.DrainDelay)},
		{"shutdown timeout", int64(o.ShutdownTimeout)},
	} {
		if b.value < 0 {
			return o, fmt.Errorf("the %s cannot be negative", b.name)
		}
	}
	setDefault(&o.Listen, DefaultListen)
	setDefault(&o.MaxRequestBytes, DefaultMaxRequestBytes)
	setDefault(&o.MaxResponseBytes, DefaultMaxResponseBytes)
	setDefault(&o.MaxWebhookBytes, DefaultMaxWebhookBytes)
	setDefault(&o.MaxConcurrent, DefaultMaxConcurrent)
	setDefault(&o.MaxConnections, DefaultMaxConnections)
	if o.MaxConnections < MinConnections {
		return o, fmt.Errorf("%d connections at once are too few; expected at least %d", o.MaxConnections, MinConnections)
	}
	setDefault(&o.MaxWait, DefaultMaxWait)
	setDefault(&o.ShutdownTimeout, DefaultShutdownTimeout)
	setDefault(&o.TokenRate, access.DefaultRate)
	setDefault(&o.MaxHeaderBytes, DefaultMaxHeaderBytes)
	setDefault(&o.ReadHeaderTimeout, DefaultReadHeaderTimeout)
	setDefault(&o.ReadTimeout, DefaultReadTimeout)
	setDefault(&o.WebhookTimeout, DefaultWebhookTimeout)
	setDefault(&o.WriteTimeout, DefaultWriteTimeout)
	setDefault(&o.IdleTimeout, DefaultIdleTimeout)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Registerer == nil {
		registry := newRegistry()
		o.Registerer, o.Gatherer = registry, registry
	}
	return o, nil
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
