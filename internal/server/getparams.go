package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
)

// maxNoted bounds what of a request's words goes into the log.
const maxNoted = 253

// getparams answers Argo CD's plugin generator.
func (s *Server) getparams(w http.ResponseWriter, r *http.Request) *failure {
	body, f := s.body(r)
	if f != nil {
		return f
	}
	request, f := s.request(r, body)
	if f != nil {
		return f
	}
	st, f := s.state()
	if f != nil {
		return f
	}
	if f := denied(bearerOf(r).Ask(request, st.Fleet)); f != nil {
		return f
	}
	told, err := s.guard.Response(st, request)
	if err != nil {
		return s.failedFor(r, st, err)
	}
	return s.answered(w, r, st, told, told.Sets(), bound{s.o.MaxResponseBytes, "--max-response-bytes"})
}

// bound is a limit of bytes, and whose it is.
type bound struct {
	bytes int64
	whose string
}

// answer is what is written, of a length that is known.
type answer interface {
	Len() int
	io.WriterTo
}

// answered gives an answer whole, or not at all if it is beyond its bound (rule 1).
func (s *Server) answered(w http.ResponseWriter, r *http.Request, st *generator.State, a answer, sets int, b bound) *failure {
	if int64(a.Len()) > b.bytes {
		return &failure{code: http.StatusServiceUnavailable, message: fmt.Sprintf(
			"the answer has %d bytes; the limit is %d (%s): ask for less, with component, release or selector", a.Len(), b.bytes, b.whose)}
	}
	note(r).sets = sets
	w.Header().Set("X-Argosy-Revision", st.Revision)
	respondWith(w, http.StatusOK, a)
	return nil
}

// state is what answers come from; 503 before there is one (G4).
func (s *Server) state() (*generator.State, *failure) {
	if st := s.refresher.State(); st != nil {
		return st, nil
	}
	err := s.refresher.Status().Err()
	if err == nil { // it has just come
		return s.refresher.State(), nil
	}
	return nil, &failure{code: http.StatusServiceUnavailable, message: err.Error(), header: map[string]string{"Retry-After": "5"}}
}

// body reads the request's JSON text within its bounds.
func (s *Server) body(r *http.Request) ([]byte, *failure) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, &failure{code: http.StatusUnsupportedMediaType, message: "expected Content-Type: application/json"}
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, &failure{code: http.StatusUnsupportedMediaType, message: "expected a body without Content-Encoding"}
	}
	limit := s.o.MaxRequestBytes
	if r.ContentLength > limit {
		return nil, tooLarge(fmt.Sprintf("the request has %d bytes; the limit is %d (--max-request-bytes)", r.ContentLength, limit))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		return nil, &failure{code: http.StatusBadRequest, message: "the request's body broke off"}
	case int64(len(body)) > limit:
		return nil, tooLarge(fmt.Sprintf("the request is larger than the limit of %d bytes (--max-request-bytes)", limit))
	}
	return body, nil
}

// tooLarge closes the connection, as what is left of the body is not read.
func tooLarge(message string) *failure {
	return &failure{code: http.StatusRequestEntityTooLarge, message: message, header: map[string]string{"Connection": "close"}}
}

// request is the question in the body.
func (s *Server) request(r *http.Request, body []byte) (generator.Request, *failure) {
	q, known := s.bodies.get(body)
	var f *failure
	if !known {
		if q, f = s.parse(body); f == nil {
			s.bodies.put(body, q)
		}
	}
	note(r).applicationSet = cut(q.ApplicationSet)
	if f != nil {
		return q, f
	}
	asks(r, q)
	return q, nil
}

// parse reads a question, or what it says of the ApplicationSet at least. Unknown keys around input.parameters are Argo CD's
// to add.
func (s *Server) parse(body []byte) (q generator.Request, f *failure) {
	bad := func(message string) (generator.Request, *failure) {
		return q, &failure{code: http.StatusBadRequest, message: message}
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
	q, err := generator.ParseRequest(parameters, s.o.Hub)
	q.ApplicationSet = outer.ApplicationSetName
	if err != nil {
		return q, failed(err)
	}
	return q, nil
}

// asks notes for log and metrics what a request is about.
func asks(r *http.Request, q generator.Request) {
	n := note(r)
	for _, v := range generator.Views {
		if v == string(q.View) { // a metric's label: no words of others
			n.view = v
		}
	}
	n.request = cut(strings.TrimRight(strings.Join([]string{n.view, q.Hub, q.Owner, q.Group, q.Component, q.Release}, "/"), "/"))
}

// jsonError is an error of encoding/json without the names of our types.
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

// failed is a generator's error as HTTP.
func failed(err error) *failure {
	f := &failure{code: http.StatusServiceUnavailable, message: err.Error()}
	var e *generator.Error
	if errors.As(err, &e) && e.Kind == generator.BadRequest {
		f.code = http.StatusBadRequest
	}
	return f
}

// problemsOf are what a generator's error is about.
func problemsOf(err error) []problem.Problem {
	var e *generator.Error
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}

func cut(s string) string {
	if len(s) > maxNoted {
		return s[:maxNoted]
	}
	return s
}

// countSets counts the parameter sets of an answer for Flux Operator: the objects inside so many others, two in
// `{"inputs":[...]}`. It is much cheaper than parsing.
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
