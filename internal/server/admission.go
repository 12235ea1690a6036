package server

import (
	"context"
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

// admit is nil if a request may use a route now. The handler finds the bearer, with its scope, by
// bearerOf (rule 11).
func (s *Server) admit(r *http.Request, route, presented string) *failure {
	if f := s.verifyClient(r); f != nil {
		return s.countFailure(r, f)
	}
	bearer, f := s.identify(route, presented)
	if f != nil {
		return s.countFailure(r, f)
	}
	return s.authorize(r, route, bearer)
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

// authorize is nil if a bearer's rate and scope allow a route now.
func (s *Server) authorize(r *http.Request, route string, bearer *access.Bearer) *failure {
	n := info(r)
	n.bearer = bearer
	if retry, ok := s.pace(r.Context(), bearer); !ok {
		return busy(retry, fmt.Sprintf("too many requests with token %q; the limit is %g a second (--token-rate)", bearer.Label(), s.o.TokenRate))
	}
	return denial(bearer.Route(route))
}

// pace waits until a bearer's rate allows a request. A request that waits holds a connection, so
// with tokens without priority no more wait than are worked on at once.
func (s *Server) pace(ctx context.Context, b *access.Bearer) (retry time.Duration, ok bool) {
	if b.HasPriority() {
		return b.Pace(ctx, s.o.MaxWait)
	}
	if retry, ok = b.Pace(ctx, -1); ok || !s.paced.Take(ctx, b.Name, false, -1) {
		return retry, ok
	}
	defer s.paced.Release(b.Name)
	return b.Pace(ctx, s.o.MaxWait)
}

// countFailure counts a failed attempt. Beyond the limit of its address the client gets 429, and
// the log no line. Requests with a good token never come here, so that nobody who shares an address
// with Argo CD locks it out. A token that is a reference is a mistake in the configuration, not an
// attempt; its response stays the same (G5).
func (s *Server) countFailure(r *http.Request, f *failure) *failure {
	if f.reference || info(r).expected {
		return f
	}
	retry, tooMany := s.attempts.Failed(r.RemoteAddr)
	if !tooMany {
		return f
	}
	info(r).expected = true
	return busy(retry, "too many failed attempts from this address; the last one: "+f.message)
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
