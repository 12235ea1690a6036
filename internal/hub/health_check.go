package hub

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// argoConfig is the ConfigMap of Argo CD's settings, and healthOfConfigMaps the setting with the
// health check of ownership grants.
const (
	argoConfig         = "argocd-cm"
	healthOfConfigMaps = "resource.customizations.health.ConfigMap"
	// healthInterval is how long a result is reused.
	healthInterval = 30 * time.Second
)

// HealthCheck finds out whether an Argo CD has the health check of ownership grants.
type HealthCheck struct {
	follower // for its error texts
	client   *http.Client
	url      string

	mu      sync.Mutex
	looked  time.Time
	missing string
	known   bool
}

// NewHealthCheck makes a HealthCheck. It sends no request.
func NewHealthCheck(o Options) (*HealthCheck, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	path := collection(configMaps, o.Namespace) + "/" + argoConfig
	config := named(o.Config)
	config.Timeout = stateTimeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &HealthCheck{client: client, url: base.JoinPath(path).String(), follower: follower{followed: followed{what: argoConfig, namespace: o.Namespace}}}, nil
}

// Missing returns why the health of grants in this Argo CD says nothing about the members; empty if
// it has the check. While the API server does not answer, it returns the last result.
func (h *HealthCheck) Missing(ctx context.Context) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.looked) < healthInterval {
		return h.missing
	}
	var config struct{ Data map[string]string }
	err := get(ctx, h.client, h.url, &config)
	h.looked = time.Now()
	switch {
	case err == nil && strings.Contains(config.Data[healthOfConfigMaps], facts.RingsHealthAnnotation):
		h.missing, h.known = "", true
	case err == nil:
		h.missing, h.known = "the hub's Argo CD has no health check of ownership grants: "+argoConfig+" needs "+healthOfConfigMaps+", the text of charts/agent-grant/health.lua", true
	case !h.known:
		h.missing = "it is not known whether the hub's Argo CD has the health check of ownership grants: " + textOf(h.short(err, "get on configmaps "+argoConfig))
	}
	return h.missing
}
