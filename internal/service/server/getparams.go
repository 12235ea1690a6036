package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// maxWords bounds the words of a request in log and errors.
const maxWords = 253

// getparams responds to the queries of Argo CD's plugin generator.
func (s *Server) getparams(w http.ResponseWriter, r *http.Request) *failure {
	body, f := s.body(r)
	if f != nil {
		return f
	}
	request, f := s.request(r, body)
	if f != nil {
		return f
	}
	st, f := s.stateFor(r, request)
	if f != nil {
		return f
	}
	resp, f := s.share(r, st, request, 0, func(ctx context.Context) (*response.Response, error) {
		return s.guard.Response(ctx, st, request)
	})
	if f != nil {
		return f
	}
	s.order.Given(st, request, resp)
	return s.respondWithin(w, r, st, resp, resp.Sets(), byteLimit{s.o.MaxResponseBytes, "--max-response-bytes"})
}

// stateFor returns the state from which to respond to a query, if the token's scope allows it.
func (s *Server) stateFor(r *http.Request, q query.Query) (*fleetstate.State, *failure) {
	recordQuery(r, q)
	st, f := s.state(r)
	if f != nil {
		return nil, f
	}
	auditQuery(r, q, st.Fleet)
	if f := httpserver.Denial(bearerOf(r).Ask(q, st.Fleet)); f != nil {
		return nil, f
	}
	return st, ownerOfOthers(r, st, q.Hub, q.Owner)
}

// body reads the request's JSON text within its bounds.
func (s *Server) body(r *http.Request) ([]byte, *failure) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, &failure{Code: http.StatusUnsupportedMediaType, Message: "expected Content-Type: application/json"}
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, &failure{Code: http.StatusUnsupportedMediaType, Message: "expected a body without Content-Encoding"}
	}
	limit := s.o.MaxRequestBytes
	if r.ContentLength > limit {
		return nil, tooLarge(fmt.Sprintf("the request has %d bytes; the limit is %d (--max-request-bytes)", r.ContentLength, limit))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		return nil, &failure{Code: http.StatusBadRequest, Message: "the request's body broke off"}
	case int64(len(body)) > limit:
		return nil, tooLarge(fmt.Sprintf("the request is larger than the limit of %d bytes (--max-request-bytes)", limit))
	}
	return body, nil
}

// tooLarge returns 413. It closes the connection, as the rest of the body is not read.
func tooLarge(message string) *failure {
	return &failure{Code: http.StatusRequestEntityTooLarge, Message: message, Header: map[string]string{"Connection": "close"}}
}

// request returns the query in the body.
func (s *Server) request(r *http.Request, body []byte) (query.Query, *failure) {
	q, f := s.parse(body)
	info(r).applicationSet = cut(q.ApplicationSet)
	return q, f
}

// parse reads a query; for an invalid one it still returns the ApplicationSet if it can. Argo CD
// may add keys around input.parameters.
func (s *Server) parse(body []byte) (q query.Query, f *failure) {
	bad := func(message string) (query.Query, *failure) {
		return q, &failure{Code: http.StatusBadRequest, Message: message}
	}
	var outer struct {
		ApplicationSetName string `json:"applicationSetName"`
		Input              struct {
			Parameters json.RawMessage `json:"parameters"`
		} `json:"input"`
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return bad(`the body is empty; expected {"applicationSetName": "...", "input": {"parameters": {...}}}`)
	}
	if err := json.Unmarshal(body, &outer); err != nil {
		return bad("the body is not as expected: " + jsonError(err))
	}
	parameters := outer.Input.Parameters
	if len(parameters) == 0 || string(parameters) == "null" {
		parameters = []byte("{}")
	}
	q, err := query.Parse(parameters, s.o.Hub)
	q.ApplicationSet = outer.ApplicationSetName
	if err != nil {
		return q, failureOf(err)
	}
	return q, nil
}

// recordQuery records a query for log and metrics.
func recordQuery(r *http.Request, q query.Query) {
	n := info(r)
	for _, v := range query.Views {
		if v == string(q.View) { // a metric's label must not be a client's text
			n.view = v
		}
	}
	n.request = cut(strings.TrimRight(strings.Join([]string{n.view, q.Hub, q.Owner, q.Group, q.Component, q.Release}, "/"), "/"))
}

// jsonError returns the text of an error of encoding/json without the names of Go types.
func jsonError(err error) string {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		expected := "an object"
		if wrongType.Type.Kind().String() == "string" {
			expected = "a string"
		}
		if wrongType.Field == "" {
			return "expected " + expected
		}
		return fmt.Sprintf("%s: expected %s", wrongType.Field, expected)
	}
	return err.Error()
}

// cut shortens a client's text for log and errors.
func cut(s string) string {
	if len(s) <= maxWords {
		return s
	}
	return problem.Prefix(s, maxWords)
}
