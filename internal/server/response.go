package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// failure is why a request is not answered.
type failure struct {
	code    int
	message string
	header  map[string]string
	cause   string // for the log, where it is more than the message
}

// body is the JSON object that Argo CD takes the condition's text from.
func (f *failure) body() []byte {
	return encode(struct {
		Message string `json:"message"`
	}{f.message})
}

// handle answers a request, or says why not; then it has written nothing.
type handle func(w http.ResponseWriter, r *http.Request) *failure

// ServeHTTP writes the failure, if any.
func (h handle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := h(w, r); f != nil {
		write(w, r, f)
	}
}

func write(w http.ResponseWriter, r *http.Request, f *failure) {
	noteFailure(r, f)
	for name, value := range f.header {
		w.Header().Set(name, value)
	}
	respond(w, f.code, f.body())
}

// noteFailure is for log and metrics.
func noteFailure(r *http.Request, f *failure) {
	if note(r).failure = f.message; f.cause != "" {
		note(r).failure = f.cause
	}
}

// respond writes a whole JSON body with its length.
func respond(w http.ResponseWriter, code int, body []byte) {
	respondWith(w, code, bytes.NewReader(body))
}

// respondWith is respond with a body that writes itself.
func respondWith(w http.ResponseWriter, code int, body answer) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(code)
	_, _ = body.WriteTo(w) // a client that has gone is no one to tell
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
