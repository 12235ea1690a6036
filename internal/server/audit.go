package server

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/access"
	"github.com/argosy-hub/argosy/internal/audit"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
)

// auditRequest writes the audit log's line of a request. Failed attempts beyond their limit have
// no line, so that nobody fills a disk.
func (s *Server) auditRequest(r *http.Request, n *requestInfo, code int, took time.Duration) {
	record := n.audit
	record.ID, record.Token, record.ApplicationSet = n.id, n.bearer.Label(), n.applicationSet
	record.Denied = n.failure
	switch n.endpoint {
	case "healthz", "metrics":
		return
	case "readyz":
		if n.bearer == nil && record.Denied == "" { // the probe without a token
			return
		}
	case "webhook":
		record.Event = n.request
	default:
		record.Query = n.request
	}
	if !n.expected {
		record.Route = n.endpoint
	}
	s.o.Audit.Request(r, record, code, took)
}

// auditQuery hands the audit log the tenants that a query is about: those of its selector or its
// owner, else those of the token's scope, else all.
func auditQuery(r *http.Request, q query.Query, f *fleet.Fleet) {
	record := &info(r).audit
	record.Tenants = scopeTenants(bearerOf(r))
	if selector, _ := q.Selector.(map[string]any); selector != nil {
		demanded, _ := selector["matchLabels"].(map[string]any)
		if tenant, _ := demanded[labels.Tenant].(string); tenant != "" {
			record.Tenants = []string{cut(tenant)}
		}
	}
	if q.Owner != "" && q.Owner != fleet.OwnerHub {
		auditCluster(r, f, q.Hub, q.Owner)
	}
}

// auditCluster hands the audit log the one cluster that a request is about.
func auditCluster(r *http.Request, f *fleet.Fleet, hub, cluster string) {
	record := &info(r).audit
	record.Cluster = cut(cluster)
	if m := f.Member(hub, cluster); m != nil {
		record.Tenants = []string{m.Tenant}
	}
}

func scopeTenants(b *access.Bearer) []string {
	if scope := b.Restricted(); scope != nil && scope.Tenants != nil {
		return scope.Tenants
	}
	return []string{audit.All}
}

// auditApproval writes that an approval lets a removal pass.
func (s *Server) auditApproval(st *fleetstate.State, hub string, removal lifecycle.Removal, approval problem.Pos) {
	attributes := []slog.Attr{
		slog.String("revision", st.Revision), slog.String("hub", hub), slog.String("cluster", removal.Cluster),
		slog.String("component", strings.Trim(removal.Group+"/"+removal.Component, "/")), slog.String("reason", string(removal.Reason)),
	}
	if m := st.Fleet.Member(hub, removal.Cluster); m != nil {
		attributes = append(attributes, slog.Any("tenants", []string{m.Tenant}))
	}
	s.o.Audit.Event("approval used", append(attributes, slog.String("approval", approval.String()))...)
}

// rotated returns what writes that a secret has a new value: a token by its name, a certificate by
// its file.
func (s *Server) rotated(kind string) func(name string) {
	return func(name string) { s.o.Audit.Event("rotated", slog.String(kind, name)) }
}
