package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// view is a page and its JSON.
type view struct {
	path, api, name string
	// parameters are the parameters of the URL.
	parameters []string
	model      func(*request) (model any, title string, err error)
}

// request holds the data from which a view is computed.
type request struct {
	url.Values
	bearer *access.Bearer
	state  *fleetstate.State
	status refresh.Status
	index  *overview.Index
	live   overview.Live
	site   *Site

	held []hold.Hold // that the bearer sees; nil before holds
}

var filters = []string{"hub", "tenant", "environment", "group", "component", "label", "q"}

// views lists all pages except the form that signs in.
var views = []view{
	{"/{$}", "/api/v1/matrix", "matrix", append([]string{"by", "page"}, filters...), matrix},
	{"/component", "/api/v1/component", "component", filters, component},
	{"/cluster", "/api/v1/cluster", "cluster", []string{"hub", "cluster"}, cluster},
	{"/why", "/api/v1/why", "why", []string{"hub", "cluster", "group", "component", "path"}, why},
	{"/timeline", "/api/v1/timeline", "timeline", append([]string{"cluster"}, filters...), timeline},
	{"/plan", "/api/v1/plan", "plan", []string{"base", "head", "hub", "tenant", "environment"}, plan},
	{"/held", "/api/v1/held", "held", []string{"reason", "hub", "tenant", "cluster", "group", "component"}, held},
	{"/rollouts", "/api/v1/board", "rollouts", nil, rollouts},
	{"/calendar", "/api/v1/calendar", "calendar", nil, calendar},
	{"/outliers", "/api/v1/outliers", "outliers", filters, outliers},
	{"/compare", "/api/v1/compare", "compare", []string{"a", "b"}, compare},
	{"/find", "/api/v1/find", "find", append([]string{"path"}, filters...), find},
}

// routes returns the handler of all requests.
func (s *Site) routes() http.Handler {
	mux := http.NewServeMux()
	for _, v := range views {
		mux.Handle("GET "+v.path, s.page(v))
		mux.Handle("GET "+v.api, s.api(v))
	}
	mux.Handle("GET /assets/{file}", http.HandlerFunc(s.asset))
	mux.Handle("GET /signin", http.HandlerFunc(s.signInPage))
	mux.Handle("POST /signin", http.HandlerFunc(s.signIn))
	mux.Handle("POST /signout", http.HandlerFunc(s.signOut))
	mux.Handle("GET /api/v1/freshness", http.HandlerFunc(s.freshnessAPI))
	mux.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.writeFailure(w, r, nil, &failure{Code: http.StatusNotFound, Message: "no such page", Hint: "The matrix shows all clusters and components."})
	}))
	all := http.NewServeMux()
	all.Handle("GET /api/v1/events", http.HandlerFunc(s.events)) // a stream takes no place of a request
	all.Handle("/", s.bounded(mux))
	fail := func(w http.ResponseWriter, r *http.Request, f *failure) { s.writeFailure(w, r, nil, f) }
	return httpserver.Secured("default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		httpserver.Recovered(s.o.Logger, fail, s.verified(http.NewCrossOriginProtection().Handler(all))))
}

// verified requires a good client certificate, where one is needed.
func (s *Site) verified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if verify := s.o.VerifyClient; verify != nil {
			if err := verify(r.TLS); err != nil {
				http.Error(w, err.Error(), http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// bounded limits the concurrent requests, and shares the limit between tokens. All requests without
// a token share one part.
func (s *Site) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := s.bearer(r)
		leave, f := s.gate.Enter(r.Context(), bearer)
		if f != nil {
			s.writeFailure(w, r, nil, f)
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// prepare authenticates a request and loads the state that it reads.
func (s *Site) prepare(r *http.Request, v view) (*request, *failure) {
	bearer, f := s.authenticate(r)
	if f != nil {
		return nil, f
	}
	q := &request{Values: r.URL.Query(), bearer: bearer, status: s.o.Fleet.Status(), state: s.o.Fleet.State(), site: s}
	for name, values := range q.Values {
		if !slices.Contains(v.parameters, name) || len(values) > 1 {
			return q, &failure{Code: http.StatusBadRequest, Message: fmt.Sprintf("query parameter %q is not known here, or is there twice", cut(name)), Hint: "Open the page from the menu."}
		}
	}
	if q.state == nil {
		message := "not ready"
		if err := q.status.Err(); err != nil && bearer.Restricted() == nil {
			message = err.Error()
		}
		return q, &failure{Code: http.StatusServiceUnavailable, Message: message, Hint: "The service has no state of the repository yet. This page is there as soon as it has read one."}
	}
	s.remember() // the timeline includes the state from here on
	q.index, q.live = s.index.Of(q.state), s.o.Live()
	for _, refused := range q.status.Refused {
		if refused.Cause == refresh.Facts && q.live.Silent == "" {
			q.live.Silent, q.live.Since = "what runs cannot be read since "+refused.Since.UTC().Format(time.DateTime)+" UTC", refused.Since
		}
	}
	return q, nil
}

// compute returns a view's model.
func (s *Site) compute(r *http.Request, v view) (q *request, model any, title string, f *failure) {
	if q, f = s.prepare(r, v); f != nil {
		return q, nil, "", f
	}
	model, title, err := v.model(q)
	if err != nil {
		return q, nil, "", q.failure(err)
	}
	return q, model, title, nil
}

// failure converts a view's error to a failure.
func (q *request) failure(err error) *failure {
	var missing *explain.PathError
	var e *problem.QueryError
	switch {
	case errors.As(err, &missing):
		return &failure{Code: http.StatusNotFound, Message: missing.Error(), Hint: "Leave the path empty to see all values."}
	case errors.As(err, &e) && e.Kind == problem.KindUnavailable:
		f := &failure{Code: http.StatusServiceUnavailable, Message: e.Error(), Hint: "Held back says what has to be fixed, and where."}
		if q.bearer.Withholds(e.Problems, q.state.Fleet) || access.Text(q.state, q.bearer, f.Message) != f.Message {
			f.Message = "the fleet cannot be computed, for a reason outside of what this token may see"
		}
		return f
	}
	return &failure{Code: http.StatusNotFound, Message: err.Error(), Hint: "Look for it in the matrix."}
}
