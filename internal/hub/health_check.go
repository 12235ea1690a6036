package hub

import (
	"context"
	"strings"
	"sync"
	"time"

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
	client *client

	mu      sync.Mutex
	looked  time.Time
	missing string
	known   bool
}

// NewHealthCheck makes a HealthCheck. It sends no request.
func NewHealthCheck(o Options) (*HealthCheck, error) {
	c, err := newClient(o.within(stateTimeout), configMaps(argoConfig, false))
	return &HealthCheck{client: c}, err
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
	err := h.client.send(ctx, h.client.request("GET", false).Name(argoConfig), &config)
	h.looked = time.Now()
	switch {
	case err == nil && strings.Contains(config.Data[healthOfConfigMaps], facts.RingsHealthAnnotation):
		h.missing, h.known = "", true
	case err == nil:
		h.missing, h.known = "the hub's Argo CD has no health check of ownership grants: "+argoConfig+" needs "+healthOfConfigMaps+", the text of charts/agent-grant/health.lua", true
	case !h.known:
		h.missing = "it is not known whether the hub's Argo CD has the health check of ownership grants: " + textOf(h.client.short(err, "get on configmaps "+argoConfig))
	}
	return h.missing
}
