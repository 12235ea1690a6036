package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/queryerr"
)

// failure is a refused request.
type failure struct {
	code    int
	message string
	header  map[string]string
	cause   string // for the log, where it is more than the message
	// reference says that the token is an unresolved reference to a Secret's key.
	reference bool
}

// body is the JSON object from which Argo CD takes the condition's text.
func (f *failure) body() []byte {
	return encode(struct {
		Message string `json:"message"`
	}{f.message})
}

// handle responds to a request. With a failure it has written nothing.
type handle func(w http.ResponseWriter, r *http.Request) *failure

// ServeHTTP writes the failure, if any.
func (h handle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := h(w, r); f != nil {
		write(w, r, f)
	}
}

func write(w http.ResponseWriter, r *http.Request, f *failure) {
	recordFailure(r, f)
	for name, value := range f.header {
		w.Header().Set(name, value)
	}
	respond(w, f.code, f.body())
}

// recordFailure records a failure for the log.
func recordFailure(r *http.Request, f *failure) {
	if info(r).failure = f.message; f.cause != "" {
		info(r).failure = f.cause
	}
}

// respond writes a whole JSON body with its length.
func respond(w http.ResponseWriter, code int, body []byte) {
	respondWith(w, code, bytes.NewReader(body))
}

// respondWith writes a body that writes itself.
func respondWith(w http.ResponseWriter, code int, body responseBody) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(code)
	_, _ = body.WriteTo(w) // the client may be gone
}

// encode is JSON without HTML escaping, with a newline at the end.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) //nolint:forbidigo // plain types of ours
	}
	return b.Bytes()
}

// byteLimit is a bound of a response's size, and whose it is.
type byteLimit struct {
	bytes int64
	whose string
}

// responseBody is a body of a known length that writes itself.
type responseBody interface {
	Len() int
	io.WriterTo
}

// respondWithin writes a whole response, or none if it is beyond its limit (rule 1).
func (s *Server) respondWithin(w http.ResponseWriter, r *http.Request, st *fleetstate.State, body responseBody, sets int, limit byteLimit) *failure {
	if int64(body.Len()) > limit.bytes {
		return &failure{code: http.StatusServiceUnavailable, message: fmt.Sprintf(
			"the answer has %d bytes; the limit is %d (%s): ask for less, with component, release or selector", body.Len(), limit.bytes, limit.whose)}
	}
	info(r).sets = sets
	w.Header().Set("X-Argosy-Revision", st.Revision)
	respondWith(w, http.StatusOK, body)
	return nil
}

// failureOf is a resolver's error as HTTP.
func failureOf(err error) *failure {
	f := &failure{code: http.StatusServiceUnavailable, message: err.Error()}
	var e *queryerr.Error
	if errors.As(err, &e) && e.Kind == queryerr.KindBadRequest {
		f.code = http.StatusBadRequest
	}
	return f
}

// problemsOf are the problems of a resolver's error.
func problemsOf(err error) []problem.Problem {
	var e *queryerr.Error
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}
