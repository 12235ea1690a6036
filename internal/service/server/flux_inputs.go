package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/responsesize"
)

// Limits of Flux Operator's ResourceSetInputProvider of type ExternalService (flux-operator
// v0.58.0, api/v1/resourcesetinputprovider_types.go and callExternalServiceProvider of its
// controller).
const (
	// maxInputsBytes bounds a body: a larger one is an error in Flux Operator.
	maxInputsBytes = 900 << 10
	// defaultInputs is the default of spec.filter.limit. Flux Operator silently cuts off inputs
	// beyond it.
	defaultInputs = 100
	// maxInputs is the largest spec.filter.limit.
	maxInputs = 10_000
)

// fluxParameters lists the query parameters of flux/inputs.
var fluxParameters = []string{"view", "hub", "group", "component", "release", "owner", "selector", "limit"}

// fluxInputs responds to the queries of Flux Operator.
func (s *Server) fluxInputs(w http.ResponseWriter, r *http.Request) *failure {
	request, limit, f := s.fluxRequest(r)
	if f != nil {
		return f
	}
	st, f := s.stateFor(r, request)
	if f != nil {
		return f
	}
	answer, f := s.share(r, st, request, limit, func(context.Context) (*response.Response, error) {
		return s.guard.Inputs(st, request, limit)
	})
	if f != nil {
		return f
	}
	if answer.Sets() > limit {
		f = &failure{Code: http.StatusServiceUnavailable, Message: fmt.Sprintf(
			"the answer has %d inputs; the limit is %d, beyond which Flux Operator would remove what they deploy: "+
				"raise spec.filter.limit of the provider, and limit in its url with it (at most %d), or ask for less, with component, release or selector",
			answer.Sets(), limit, maxInputs)}
	} else {
		f = s.respondWithin(w, r, st, answer, answer.Sets(), s.inputsLimit())
	}
	if f != nil {
		f.Cause = causeOf(f, st, request.Hub, answer)
	}
	return f
}

// causeOf returns why a response is refused, with the tenant that takes most of it. It is for the
// log: the message does not name tenants.
func causeOf(f *failure, st *fleetstate.State, hub string, answer *response.Response) string {
	sizes := map[string]int{}
	most := ""
	answer.ParameterSets(func(set response.ParameterSet) {
		if m := st.Fleet.Member(hub, set.Item().Cluster); m != nil {
			if sizes[m.Tenant] += set.Len(); sizes[m.Tenant] > sizes[most] {
				most = m.Tenant
			}
		}
	})
	return fmt.Sprintf("%s; tenant %q has %d of the %d bytes", f.Message, most, sizes[most], answer.Len())
}

// inputsLimit returns the limit of a response to Flux Operator.
func (s *Server) inputsLimit() byteLimit {
	if s.o.MaxResponseBytes < maxInputsBytes {
		return byteLimit{s.o.MaxResponseBytes, "--max-response-bytes"}
	}
	return byteLimit{maxInputsBytes, "Flux Operator's"}
}

// knownQueries returns the queries of engines, with the limits of their responses.
func (s *Server) knownQueries() (out []responsesize.Query) {
	for _, q := range s.guard.KnownQueries() {
		out = append(out, responsesize.Query{Query: q, MaxBytes: s.o.MaxResponseBytes})
	}
	s.guard.KnownInputs(func(q query.Query, most int) {
		out = append(out, responsesize.Query{Query: q, MaxBytes: s.inputsLimit().bytes, MaxInputs: cmp.Or(most, defaultInputs)})
	})
	return out
}

// fluxRequest returns the query in the URL, and how many inputs the requester accepts.
func (s *Server) fluxRequest(r *http.Request) (request query.Query, limit int, f *failure) {
	bad := func(format string, args ...any) *failure {
		return &failure{Code: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return request, 0, bad("the query cannot be read: %s", cut(err.Error()))
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		switch {
		case name == "base":
			return request, 0, bad("query parameter base is not available here: put the catalog entry into the group's catalog in the repository")
		case !slices.Contains(fluxParameters, name):
			hints := append(problem.Nearest(cut(name), fluxParameters), "expected "+strings.Join(fluxParameters, ", "))
			return request, 0, bad("unknown query parameter %q: %s", cut(name), strings.Join(hints, "; "))
		case len(q[name]) > 1:
			return request, 0, bad("query parameter %s is given %d times; expected once", name, len(q[name]))
		}
	}
	request = query.Query{
		View: query.View(q.Get("view")), Hub: q.Get("hub"), Group: q.Get("group"), Component: q.Get("component"),
		Release: q.Get("release"), Owner: q.Get("owner"),
	}
	if request.Hub == "" {
		request.Hub = s.o.Hub
	}
	if text := q.Get("selector"); text != "" {
		if request.Selector, err = labels.SelectorFromText(text); err != nil {
			return request, 0, bad("query parameter selector: %s", cut(err.Error()))
		}
	}
	limit = defaultInputs
	if q.Has("limit") {
		if limit, err = strconv.Atoi(q.Get("limit")); err != nil || limit < 1 || limit > maxInputs {
			return request, 0, bad("query parameter limit is %q; expected spec.filter.limit of the provider, from 1 to %d", cut(q.Get("limit")), maxInputs)
		}
	}
	return request, limit, nil
}
