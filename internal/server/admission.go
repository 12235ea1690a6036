package server

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/access"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/overview"
)

// withToken admits requests with a token that is good for the route.
func (s *Server) withToken(route string, presented func(*http.Request) string, next handle) handle {
	return func(w http.ResponseWriter, r *http.Request) *failure {
		if f := s.verifyClient(r); f != nil {
			return s.countFailure(r, f)
		}
		bearer, f := s.identify(route, presented(r))
		if f != nil {
			return s.countFailure(r, f)
		}
		return s.admit(w, r, route, bearer, next)
	}
}

// admit responds to a request if its bearer may use the route now. The handler finds the bearer,
// with its scope, by bearerOf (rule 11). A request waits shortly for its token's rate and for a
// slot: after a refusal Argo CD waits for three minutes.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, route string, bearer *access.Bearer, next handle) *failure {
	info(r).bearer = bearer
	crowded := func() *failure {
		return busy(5*time.Second, fmt.Sprintf("too many requests at once with token %q; the limit for all tokens is %d (--max-concurrent)", bearer.Label(), s.o.MaxConcurrent))
	}
	leave, ok := s.slots.Enter(bearer.Label())
	if !ok {
		return crowded()
	}
	defer leave()
	if retry, ok := bearer.Pace(r.Context(), s.o.MaxWait); !ok {
		return busy(retry, fmt.Sprintf("too many requests with token %q; the limit is %g a second (--token-rate)", bearer.Label(), s.o.TokenRate))
	}
	if f := denial(bearer.Route(route)); f != nil {
		return f
	}
	release, ok := s.slots.Take(r.Context(), bearer.Label(), s.o.MaxWait)
	if !ok {
		return crowded()
	}
	defer release()
	return next(w, r)
}

// verifyClient is nil if the client's certificate is good, or the service needs none.
func (s *Server) verifyClient(r *http.Request) *failure {
	if s.clients == nil {
		return nil
	}
	return denial(s.clients.Verify(r.TLS))
}

// identify returns the bearer of a presented token.
func (s *Server) identify(route, presented string) (*access.Bearer, *failure) {
	switch {
	case presented == "" && route == access.FluxInputs:
		return nil, unauthorized(`no token: expected the header "Authorization: Bearer <token>", or Basic with the token as password`)
	case presented == "" && route == access.Registry:
		return nil, unauthorized("no token: expected it as the password of any user, or as a bearer's")
	case presented == "":
		return nil, unauthorized(`no bearer token: expected the header "Authorization: Bearer <token>"`)
	case strings.HasPrefix(presented, "$"):
		f := forbidden("the bearer token is refused: " + access.ReferenceHint)
		f.reference = true
		return nil, f
	}
	bearer := s.tokens.Find(presented)
	if bearer == nil {
		return nil, unauthorized("the bearer token is wrong")
	}
	return bearer, nil
}

// countFailure counts a failed attempt. Beyond the limit of all the client gets 429, and the log no
// line. Requests with a good token never come here, so that nobody locks Argo CD out. A token that
// is a reference is a mistake in the configuration, not an attempt; its response stays the same
// (G5).
func (s *Server) countFailure(r *http.Request, f *failure) *failure {
	if f.reference || info(r).expected {
		return f
	}
	if s.failures.Allow() {
		return f
	}
	info(r).expected = true
	return busy(time.Second, "too many failed attempts; the last one: "+f.message)
}

// denial is an error of access as 403, nil for none.
func denial(err error) *failure {
	if err == nil {
		return nil
	}
	return forbidden(err.Error())
}

func forbidden(message string) *failure {
	return &failure{code: http.StatusForbidden, message: message}
}

func unauthorized(message string) *failure {
	return &failure{code: http.StatusUnauthorized, message: message, header: map[string]string{"WWW-Authenticate": "Bearer"}}
}

func busy(retry time.Duration, message string) *failure {
	seconds := strconv.Itoa(max(1, int(math.Ceil(retry.Seconds()))))
	return &failure{code: http.StatusTooManyRequests, message: message, header: map[string]string{"Retry-After": seconds}}
}

// bearerOf is who sends a request.
func bearerOf(r *http.Request) *access.Bearer { return info(r).bearer }

// ofOthers denies a query about a member that is served from an earlier file of a tenant that the
// token does not see. What is an owner or a cluster.
func ofOthers(r *http.Request, st *fleetstate.State, what, hub, name string) *failure {
	if c := st.Cluster(hub, name); c != nil && !overview.Visible(bearerOf(r), c) {
		return denial(bearerOf(r).Hidden(what, name))
	}
	return nil
}

// ownerOfOthers is ofOthers of the owner of a query, unless that is the hub.
func ownerOfOthers(r *http.Request, st *fleetstate.State, hub, owner string) *failure {
	if self := st.Fleet.HubMember(hub); self != nil && owner == self.Name {
		return nil
	}
	return ofOthers(r, st, "owner", hub, owner)
}

// sees reports whether a token shows a member, by its own file and by the one that it is served
// from.
func sees(r *http.Request, st *fleetstate.State, hub, name string) bool {
	m := st.Fleet.Member(hub, name)
	return m != nil && bearerOf(r).Sees(m.Hub, m.Name, m.Tenant) && ofOthers(r, st, "cluster", hub, name) == nil
}

// withheld is the message of a failure whose cause is outside the scope of the request's token.
const withheld = "the fleet cannot be computed, for a reason outside of what this token may see; the service's log has it"

// failureFor is failureOf without what is outside the scope of the request's token.
func (s *Server) failureFor(r *http.Request, st *fleetstate.State, err error) *failure {
	f := failureOf(err)
	if f.code != http.StatusBadRequest && (bearerOf(r).Withholds(problemsOf(err), st.Fleet) || shown(r, st, f.message) != f.message) {
		f.cause = f.message
		f.message = withheld
	}
	return f
}

// shown is a text, unless it names clusters of others than the tenants or owners that the token is
// restricted to.
func shown(r *http.Request, st *fleetstate.State, text string) string {
	only := bearerOf(r).Restricted()
	return overview.Text(st, bearerOf(r), only == nil || only.Tenants == nil && only.Owners == nil, text)
}

// tokenOrPassword takes the token also as the password of any user: Flux Operator sends either, by
// the keys of its Secret.
func tokenOrPassword(r *http.Request) string {
	if _, password, basic := r.BasicAuth(); basic {
		return strings.TrimSpace(password)
	}
	return access.BearerToken(r)
}
