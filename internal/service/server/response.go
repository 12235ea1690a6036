package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// failure is a refused request.
type failure = httpserver.Failure

// handle responds to a request. If it returns a failure, it has written nothing.
type handle func(w http.ResponseWriter, r *http.Request) *failure

// ServeHTTP calls h and writes its failure, if any.
func (h handle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := h(w, r); f != nil {
		write(w, r, f)
	}
}

func write(w http.ResponseWriter, r *http.Request, f *failure) {
	recordFailure(r, f)
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	respond(w, f.Code, f.Body())
}

// recordFailure records a failure for the log.
func recordFailure(r *http.Request, f *failure) {
	if info(r).failure = f.Message; f.Cause != "" {
		info(r).failure = f.Cause
	}
}

// respond writes a whole JSON body with its length.
func respond(w http.ResponseWriter, code int, body []byte) {
	respondWith(w, code, bytes.NewReader(body))
}

// respondWith writes a body with its length.
func respondWith(w http.ResponseWriter, code int, body responseBody) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(code)
	_, _ = body.WriteTo(w) // the client may be gone
}

// byteLimit is a bound of a response's size, and who sets it.
type byteLimit struct {
	bytes int64
	whose string
}

// responseBody is a body of known length.
type responseBody interface {
	Len() int
	io.WriterTo
}

// respondWithin writes a whole response, or nothing if it is beyond its limit.
func (s *Server) respondWithin(w http.ResponseWriter, r *http.Request, st *fleetstate.State, body responseBody, sets int, limit byteLimit) *failure {
	if int64(body.Len()) > limit.bytes {
		return &failure{Code: http.StatusServiceUnavailable, Message: fmt.Sprintf(
			"the answer has %d bytes; the limit is %d (%s): ask for less, with component, release or selector", body.Len(), limit.bytes, limit.whose)}
	}
	info(r).sets = sets
	w.Header().Set("X-Argosy-Revision", st.Revision)
	respondWith(w, http.StatusOK, body)
	return nil
}

// failureOf returns the HTTP failure for a resolver's error.
func failureOf(err error) *failure {
	f := &failure{Code: http.StatusServiceUnavailable, Message: err.Error()}
	var e *problem.QueryError
	if errors.As(err, &e) && e.Kind == problem.KindBadRequest {
		f.Code = http.StatusBadRequest
	}
	return f
}

// problemsOf returns the problems of a resolver's error.
func problemsOf(err error) []problem.Problem {
	var e *problem.QueryError
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}
