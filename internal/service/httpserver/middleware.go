package httpserver

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
)

// Recorder records the status and the size of a response.
type Recorder struct {
	http.ResponseWriter
	// Code is 0 until something is written.
	Code  int
	Bytes int
}

// WriteHeader records and writes the status.
func (r *Recorder) WriteHeader(code int) {
	if r.Code == 0 {
		r.Code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write writes b and records the number of bytes.
func (r *Recorder) Write(b []byte) (int, error) {
	if r.Code == 0 {
		r.Code = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.Bytes += n
	return n, err
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Secured sets no-store and a Content-Security-Policy on every response.
func Secured(policy string, next http.Handler) http.Handler {
	fixed := http.Header{
		"Cache-Control":              {"no-store"},
		"Content-Security-Policy":    {policy},
		"Cross-Origin-Opener-Policy": {"same-origin"},
		"Referrer-Policy":            {"no-referrer"},
		"X-Content-Type-Options":     {"nosniff"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), fixed) // Set replaces the shared values and never changes them
		next.ServeHTTP(w, r)
	})
}

// Recovered responds to a panic with fail. If the response has begun, it breaks the connection off.
func Recovered(log *slog.Logger, fail func(http.ResponseWriter, *http.Request, *Failure), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec, ok := w.(*Recorder)
		if !ok {
			rec = &Recorder{ResponseWriter: w}
		}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p != http.ErrAbortHandler { //nolint:errorlint // the value itself, by its documentation
				log.Error("panic", "path", r.URL.Path, "id", w.Header().Get("X-Request-Id"), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			if rec.Code != 0 {
				panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to break a connection off
			}
			fail(rec, r, &Failure{Code: http.StatusInternalServerError, Message: "internal error; see the service's log"})
		}()
		next.ServeHTTP(rec, r)
	})
}
