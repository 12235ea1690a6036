package server

import (
	"bytes"
	"context"
	"net/http"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// desired returns the response to a query by the revision of each ring.
func (s *Server) desired(st *fleetstate.State, q query.Query) (*response.Response, error) {
	return s.rings.Respond(context.Background(), st, q)
}

// composed returns the response to serve now: by the revision of each ring, but with the previous
// parameter sets of components that wait for another component.
func (s *Server) composed(ctx context.Context, st *fleetstate.State, q query.Query) (*response.Response, error) {
	desired, err := s.rings.Respond(ctx, st, q)
	if err != nil {
		return nil, err
	}
	return s.order.Compose(st, q, desired)
}

// reporter returns the function that publishes reports on an agent's groups, nil without grants.
func reporter(to Grants) func(map[string]facts.GroupReport) {
	if to == nil {
		return nil
	}
	return to.Report
}

// Rollouts returns the revisions of all rings, and the reasons for which they wait.
func (s *Server) Rollouts() rings.Report { return s.rings.Report() }

// rollouts responds with the revisions of all rings, and the reasons for which they wait.
func (s *Server) rollouts(w http.ResponseWriter, r *http.Request) *failure {
	st, f := s.state(r)
	if f != nil {
		return f
	}
	if f := httpserver.Denial(bearerOf(r).Hub(s.o.Hub)); f != nil {
		return f
	}
	body := s.rings.Report()
	if b := bearerOf(r); b.Restricted() != nil {
		body = body.For(st, func(m *fleet.Member) bool {
			return b.Sees(m.Hub, m.Name, m.Tenant) && ofOthers(r, st, "cluster", m.Hub, m.Name) == nil
		}, b.SeesGroup)
	}
	info(r).tenants = scopeTenants(bearerOf(r))
	respondWith(w, http.StatusOK, bytes.NewReader(httpserver.Encode(body)))
	return nil
}
