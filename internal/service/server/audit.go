package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/service/access"
)

// allTenants stands for every tenant.
const allTenants = "*"

// newAuditLog returns the audit log: one line of JSON for each request, rotated secret and used
// approval. A line never holds a token, a request's body or a response.
func newAuditLog(w io.Writer) *slog.Logger {
	if w == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewJSONHandler(w, nil)).With("log", "audit")
}

// auditRequest writes the audit log's line of a request, also of a refused one. Probes and metrics
// have none. Failed attempts beyond their limit have none, so that they cannot fill a disk.
func (s *Server) auditRequest(r *http.Request, n *requestInfo, code int, took time.Duration) {
	isProbe := n.endpoint == "healthz" || n.endpoint == "metrics" || n.endpoint == "readyz" && n.bearer == nil && n.failure == ""
	if n.expected || isProbe || n.endpoint == "" || !s.audit.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	request := "query"
	if n.endpoint == "webhook" {
		request = "event"
	}
	attributes := []slog.Attr{slog.String("id", n.id), slog.String("method", r.Method), slog.String("route", n.endpoint), slog.Int("code", code), slog.String("address", address)}
	for _, a := range [][2]string{
		{"token", n.bearer.Label()},
		{"certificate", certificate(r)},
		{"applicationSet", n.applicationSet},
		{request, n.request},
		{"cluster", n.cluster},
		{"denied", n.failure},
	} {
		if a[1] != "" {
			attributes = append(attributes, slog.String(a[0], cut(a[1])))
		}
	}
	if len(n.tenants) > 0 {
		attributes = append(attributes, slog.Any("tenants", n.tenants))
	}
	s.audit.LogAttrs(r.Context(), slog.LevelInfo, "request", append(attributes, slog.Duration("took", took))...)
}

// certificate returns the subject and the serial number of the client's certificate.
func certificate(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return ""
	}
	c := r.TLS.PeerCertificates[0]
	return strings.TrimSpace(c.Subject.String() + " " + c.SerialNumber.Text(16))
}

// auditQuery sets the tenants of a query for the audit log: from its selector or its owner, else
// from the token's scope, else all.
func auditQuery(r *http.Request, q query.Query, f *fleet.Fleet) {
	n := info(r)
	n.tenants = scopeTenants(bearerOf(r))
	if selector, _ := q.Selector.(map[string]any); selector != nil {
		demanded, _ := selector["matchLabels"].(map[string]any)
		if tenant, _ := demanded[labels.Tenant].(string); tenant != "" {
			n.tenants = []string{cut(tenant)}
		}
	}
	if q.Owner != "" && q.Owner != fleet.OwnerHub {
		auditCluster(r, f, q.Hub, q.Owner)
	}
}

// auditCluster sets the cluster of a request for the audit log.
func auditCluster(r *http.Request, f *fleet.Fleet, hub, cluster string) {
	n := info(r)
	n.cluster = cut(cluster)
	if m := f.Member(hub, cluster); m != nil {
		n.tenants = []string{m.Tenant}
	}
}

func scopeTenants(b *access.Bearer) []string {
	if scope := b.Restricted(); scope != nil && scope.Tenants != nil {
		return scope.Tenants
	}
	return []string{allTenants}
}

// auditApproval writes that an approval allows a removal.
func (s *Server) auditApproval(st *fleetstate.State, hub string, removal lifecycle.Removal, approval problem.Pos) {
	attributes := []slog.Attr{
		slog.String("revision", st.Revision), slog.String("hub", hub), slog.String("cluster", removal.Cluster),
		slog.String("component", strings.Trim(removal.Group+"/"+removal.Component, "/")), slog.String("reason", string(removal.Reason)),
	}
	if m := st.Fleet.Member(hub, removal.Cluster); m != nil {
		attributes = append(attributes, slog.Any("tenants", []string{m.Tenant}))
	}
	s.audit.LogAttrs(context.Background(), slog.LevelInfo, "approval used", append(attributes, slog.String("approval", approval.String()))...)
}

// rotated returns a function that writes that a secret has a new value. Its name is a token's name
// or a certificate's file.
func (s *Server) rotated(kind string) func(name string) {
	return func(name string) { s.audit.Info("rotated", kind, name) }
}
