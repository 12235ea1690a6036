package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// statusClientGone is the status code in log and metrics of a request whose client has closed the
// connection. No client gets it; nginx and Traefik use the same code.
const statusClientGone = 499

// sharedKey is the same for requests with the same response.
type sharedKey struct {
	state *fleetstate.State
	query string
	// limit is how many inputs Flux Operator takes; 0 for Argo CD.
	limit int
}

// share computes the response to a query of a state. Equal requests at the same time share one
// computation, however their tokens differ: stateFor has admitted each of them. A request whose
// client has gone ends at once, and the computation ends with its last client.
func (s *Server) share(r *http.Request, st *fleetstate.State, q query.Query, limit int, compute func(context.Context) (*response.Response, error)) (*response.Response, *failure) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, s.failureFor(r, st, problem.BadRequest("%v", err))
	}
	resp, err := s.shared.Do(r.Context(), sharedKey{st, string(text), limit}, compute)
	switch {
	case r.Context().Err() != nil:
		return nil, &failure{Code: statusClientGone, Message: "the client has closed the connection"}
	case err != nil:
		return nil, s.failureFor(r, st, err)
	}
	return resp, nil
}
