package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
)

// failure is an error and what a reader can do about it.
type failure struct {
	code          int
	message, hint string
}

// Message, Hint and Status are for the page of the failure.
func (f *failure) Message() string { return f.message }
func (f *failure) Hint() string    { return f.hint }
func (f *failure) Status() string  { return http.StatusText(f.code) }

// writeFailure writes a failure as JSON or as a page. Who has no session gets the form instead.
func (s *Site) writeFailure(w http.ResponseWriter, r *http.Request, q *request, f *failure) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		if f.code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		s.writeJSON(w, r, f.code, map[string]string{"message": f.message})
		return
	}
	if f.code == http.StatusUnauthorized && r.Header.Get("Authorization") == "" {
		http.Redirect(w, r, "/signin?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
		return
	}
	p := page{Title: http.StatusText(f.code), Model: f}
	if q != nil {
		p = s.newPage(q, p)
	}
	s.writePage(w, r, f.code, "failure", p)
}

// cut bounds a word of a request in an error.
func cut(s string) string { return problem.Truncate(s, 66) }
