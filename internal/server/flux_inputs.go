package server

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
)

// What Flux Operator's ResourceSetInputProvider of type ExternalService takes (flux-operator
// v0.58.0, api/v1/resourcesetinputprovider_types.go and callExternalServiceProvider of its
// controller).
const (
	// maxInputsBytes: a larger body is an error there.
	maxInputsBytes = 900 << 10
	// defaultInputs is spec.filter.limit where it is not set; inputs beyond it are silently cut
	// off.
	defaultInputs = 100
	// maxInputs is the largest spec.filter.limit.
	maxInputs = 10_000
)

// fluxParameters are the query parameters of flux/inputs.
var fluxParameters = []string{"view", "hub", "group", "component", "release", "owner", "selector", "limit"}

// fluxInputs answers the queries of Flux Operator.
func (s *Server) fluxInputs(w http.ResponseWriter, r *http.Request) *failure {
	request, limit, f := s.fluxRequest(r)
	if f != nil {
		return f
	}
	recordQuery(r, request)
	st, f := s.state(r)
	if f != nil {
		return f
	}
	auditQuery(r, request, st.Fleet)
	if f := denial(bearerOf(r).Ask(request, st.Fleet)); f != nil {
		return f
	}
	if f := ownerOfOthers(r, st, request.Hub, request.Owner); f != nil {
		return f
	}
	answer, err := s.guard.Inputs(st, request)
	if err != nil {
		return s.failureFor(r, st, err)
	}
	sets := countSets(answer, 2)
	if sets > limit {
		return &failure{code: http.StatusServiceUnavailable, message: fmt.Sprintf(
			"the answer has %d inputs; the limit is %d, beyond which Flux Operator would remove what they deploy: "+
				"raise spec.filter.limit of the provider, and limit in its url with it (at most %d), or ask for less, with component, release or selector",
			sets, limit, maxInputs)}
	}
	b := byteLimit{maxInputsBytes, "Flux Operator's"}
	if s.o.MaxResponseBytes < b.bytes {
		b = byteLimit{s.o.MaxResponseBytes, "--max-response-bytes"}
	}
	return s.respondWithin(w, r, st, bytes.NewReader(answer), sets, b)
}

// fluxRequest returns the query in the URL, and how many inputs the requester takes.
func (s *Server) fluxRequest(r *http.Request) (request query.Query, limit int, f *failure) {
	bad := func(format string, args ...any) *failure {
		return &failure{code: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
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

// countSets counts the parameter sets of a response for Flux Operator: the objects at a depth, two
// in `{"inputs":[...]}`. It is much cheaper than parsing.
func countSets(answer []byte, inside int) int {
	depth, sets, text := 0, 0, false
	for i := 0; i < len(answer); i++ {
		switch c := answer[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth == inside+1 && c == '{' {
				sets++
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return sets
}
