package server

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/access"
	"github.com/argosy-hub/argosy/internal/generator"
)

// admit is nil if the bearer of what a request presents may use a route now. What it may ask there is in the request's
// note, for whoever answers (rule 11).
func (s *Server) admit(r *http.Request, route, presented string) *failure {
	if f := s.certified(r); f != nil {
		return s.refused(r, f)
	}
	bearer, f := s.known(route, presented)
	if f != nil {
		return s.refused(r, f)
	}
	return s.paced(r, route, bearer)
}

// certified is nil if the client's certificate is good, or none is needed.
func (s *Server) certified(r *http.Request) *failure {
	if s.clients == nil {
		return nil
	}
	return denied(s.clients.Verify(r.TLS))
}

// known is whose a presented token is, or why it is not accepted.
func (s *Server) known(route, presented string) (*access.Bearer, *failure) {
	switch {
	case presented == "" && route == access.FluxInputs:
		return nil, unauthorized(`no token: expected the header "Authorization: Bearer <token>", or Basic with the token as password`)
	case presented == "" && route == access.Registry:
		return nil, unauthorized("no token: expected it as the password of any user, or as a bearer's")
	case presented == "":
		return nil, unauthorized(`no bearer token: expected the header "Authorization: Bearer <token>"`)
	case strings.HasPrefix(presented, "$"):
		return nil, forbidden("the bearer token is refused: " + access.ReferenceHint)
	}
	bearer := s.tokens.Find(presented)
	if bearer == nil {
		return nil, unauthorized("the bearer token is wrong")
	}
	return bearer, nil
}

// paced is nil if a token's bearer may use a route now.
func (s *Server) paced(r *http.Request, route string, bearer *access.Bearer) *failure {
	n := note(r)
	n.bearer = bearer
	if retry, ok := bearer.Pace(r.Context(), s.o.MaxWait); !ok {
		return busy(retry, fmt.Sprintf("too many requests with token %q; the limit is %g a second (--token-rate)", bearer.Label(), s.o.TokenRate))
	}
	return denied(bearer.Route(route))
}

// refused counts a failed attempt. Beyond the limit of its address it is told to wait, and is not in the log. Whoever has
// a good token never comes here, so that nobody who shares an address with Argo CD locks it out. A token that is a
// reference is a mistake in the configuration, not an attempt; its text stays the same (G5).
func (s *Server) refused(r *http.Request, f *failure) *failure {
	if strings.HasSuffix(f.message, access.ReferenceHint) || note(r).expected {
		return f
	}
	retry, tooMany := s.attempts.Failed(r.RemoteAddr)
	if !tooMany {
		return f
	}
	note(r).expected = true
	return busy(retry, "too many failed attempts from this address; the last one: "+f.message)
}

// denied is a refusal of access as HTTP, nil for none.
func denied(err error) *failure {
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
func bearerOf(r *http.Request) *access.Bearer { return note(r).bearer }

// failedFor is failed, without what the request's bearer may not know.
func (s *Server) failedFor(r *http.Request, st *generator.State, err error) *failure {
	f := failed(err)
	if f.code != http.StatusBadRequest && bearerOf(r).Withholds(problemsOf(err), st.Fleet) {
		f.cause = f.message
		f.message = "the fleet cannot be computed, for a reason outside of what this token may see; the service's log has it"
	}
	return f
}

// bearerToken is the token of the Authorization header, "" without one.
func bearerToken(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(value)
}

// tokenOrPassword is the token as a bearer's, or as the password of any user: Flux Operator sends of a Secret what it has.
func tokenOrPassword(r *http.Request) string {
	if _, password, basic := r.BasicAuth(); basic {
		return strings.TrimSpace(password)
	}
	return bearerToken(r)
}
