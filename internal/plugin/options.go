package plugin

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/argosy-hub/argosy/internal/appsets"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/source"
)

// Defaults of Options.
const (
	DefaultListen           = "127.0.0.1:4355"
	DefaultMaxRequestBytes  = 1 << 20
	DefaultMaxResponseBytes = 64 << 20
	DefaultMaxConcurrent    = 32
	DefaultMaxWait          = 5 * time.Second
	DefaultShutdownTimeout  = 15 * time.Second
)

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

	// StateFile keeps the last accepted snapshot across restarts; default none.
	StateFile string

	// Listen is the address to listen on; default DefaultListen. Port 0 takes a free one.
	Listen string
	// TokenFile holds the bearer token.
	TokenFile string
	// TLSCert and TLSKey are PEM files; without both, the server speaks plain HTTP.
	TLSCert, TLSKey string

	// MaxRequestBytes and MaxResponseBytes bound bodies.
	MaxRequestBytes, MaxResponseBytes int64
	// MaxConcurrent bounds how many requests of the API are worked on at once; MaxWait is how long another waits for its
	// turn before it is refused with 429. A negative MaxWait does not wait.
	MaxConcurrent int
	MaxWait       time.Duration

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
	case (o.Registerer == nil) != (o.Gatherer == nil):
		return o, errors.New("metrics need both a registerer and a gatherer")
	}
	for _, b := range []struct {
		name  string
		value int64
	}{
		{"largest request", o.MaxRequestBytes},
		{"largest answer", o.MaxResponseBytes},
		{"number of concurrent requests", int64(o.MaxConcurrent)},
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
	setDefault(&o.MaxConcurrent, DefaultMaxConcurrent)
	setDefault(&o.MaxWait, DefaultMaxWait)
	setDefault(&o.ShutdownTimeout, DefaultShutdownTimeout)
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
