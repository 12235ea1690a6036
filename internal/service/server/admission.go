package server

import (
	"net/http"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// withToken admits requests with a token that is valid for the route.
func (s *Server) withToken(route string, presented func(*http.Request) string, next handle) handle {
	return func(w http.ResponseWriter, r *http.Request) *failure {
		if f := s.verifyClient(r); f != nil {
			return f
		}
		bearer, f := s.identify(r, route, presented(r))
		if f != nil {
			return f
		}
		return s.admit(w, r, route, bearer, next)
	}
}

// admit responds to a request if its bearer may use the route now. The handler finds the bearer,
// with its scope, by bearerOf.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, route string, bearer *access.Bearer, next handle) *failure {
	info(r).bearer = bearer
	leave, f := s.gate.Enter(r.Context(), bearer)
	if f != nil {
		return f
	}
	defer leave()
	if f := httpserver.Denial(bearer.Route(route)); f != nil {
		return f
	}
	return next(w, r)
}

// verifyClient returns nil if the client's certificate is valid, or the service needs none.
func (s *Server) verifyClient(r *http.Request) *failure {
	if s.clients == nil {
		return nil
	}
	if err := s.clients.Verify(r.TLS); err != nil {
		return s.countFailure(r, httpserver.Denial(err))
	}
	return nil
}

// identify returns the bearer of a presented token. A token that is a reference is a mistake in the
// configuration, not an attempt, so it always gets the same response.
func (s *Server) identify(r *http.Request, route, presented string) (*access.Bearer, *failure) {
	wrong := "the bearer token is wrong"
	switch {
	case presented == "" && route == access.FluxInputs:
		wrong = `no token: expected the header "Authorization: Bearer <token>", or Basic with the token as password`
	case presented == "" && route == access.Registry:
		wrong = "no token: expected it as the password of any user, or as a bearer's"
	case presented == "":
		wrong = `no bearer token: expected the header "Authorization: Bearer <token>"`
	case strings.HasPrefix(presented, "$"):
		return nil, &failure{Code: http.StatusForbidden, Message: "the bearer token is refused: " + access.ReferenceHint}
	default:
		if bearer := s.tokens.Find(presented); bearer != nil {
			return bearer, nil
		}
	}
	return nil, s.countFailure(r, httpserver.Unauthorized(wrong))
}

// countFailure counts a failed attempt. Attempts beyond the limit are not logged.
func (s *Server) countFailure(r *http.Request, f *failure) *failure {
	if info(r).expected {
		return f
	}
	f, info(r).expected = s.gate.Failed(f)
	return f
}

// bearerOf returns the bearer of a request.
func bearerOf(r *http.Request) *access.Bearer { return info(r).bearer }

// ofOthers denies a query about a member unless the token sees both its own file and the file that
// it is served from. The parameter what is "owner" or "cluster".
func ofOthers(r *http.Request, st *fleetstate.State, what, hub, name string) *failure {
	if c := st.Cluster(hub, name); c != nil && !access.Visible(bearerOf(r), c) {
		return httpserver.Denial(bearerOf(r).Hidden(what, name))
	}
	return nil
}

// ownerOfOthers calls ofOthers for the owner of a query, unless the owner is the hub.
func ownerOfOthers(r *http.Request, st *fleetstate.State, hub, owner string) *failure {
	if self := st.Fleet.HubMember(hub); self != nil && owner == self.Name {
		return nil
	}
	return ofOthers(r, st, "owner", hub, owner)
}

// sees reports whether a token shows a member, both by its own file and by the file that it is
// served from.
func sees(r *http.Request, st *fleetstate.State, hub, name string) bool {
	m := st.Fleet.Member(hub, name)
	return m != nil && bearerOf(r).Sees(m.Hub, m.Name, m.Tenant) && ofOthers(r, st, "cluster", hub, name) == nil
}

// withheld is the message of a failure whose cause is outside the scope of the request's token.
const withheld = "the fleet cannot be computed, for a reason outside of what this token may see; the service's log has it"

// failureFor returns failureOf without a cause that is outside the scope of the request's token.
func (s *Server) failureFor(r *http.Request, st *fleetstate.State, err error) *failure {
	f := failureOf(err)
	if f.Code != http.StatusBadRequest && (bearerOf(r).Withholds(problemsOf(err), st.Fleet) || shown(r, st, f.Message) != f.Message) {
		f.Cause = f.Message
		f.Message = withheld
	}
	return f
}

// shown returns text, or access.Withheld if the token is restricted to tenants or owners and the
// text names a cluster of others.
func shown(r *http.Request, st *fleetstate.State, text string) string {
	if only := bearerOf(r).Restricted(); only == nil || only.Tenants == nil && only.Owners == nil {
		return text
	}
	return access.Text(st, bearerOf(r), text)
}

// tokenOrPassword returns the token, or the password of any user: Flux Operator sends either,
// depending on the keys of its Secret.
func tokenOrPassword(r *http.Request) string {
	if _, password, basic := r.BasicAuth(); basic {
		return strings.TrimSpace(password)
	}
	return access.BearerToken(r)
}
