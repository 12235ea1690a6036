package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// failure is an error with a hint for the reader.
type failure = httpserver.Failure

// writeFailure writes a failure as JSON or as a page. A reader without a session gets the form
// instead.
func (s *Site) writeFailure(w http.ResponseWriter, r *http.Request, q *request, f *failure) {
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		s.writeJSON(w, r, f.Code, map[string]string{"message": f.Message})
		return
	}
	if f.Code == http.StatusUnauthorized && r.Header.Get("Authorization") == "" {
		w.Header().Del("WWW-Authenticate")
		http.Redirect(w, r, "/signin?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
		return
	}
	p := page{Title: f.Status(), Model: f}
	if q != nil {
		p = s.newPage(q, p)
	}
	s.writePage(w, r, f.Code, "failure", p)
}

// cut shortens a text of a request for an error.
func cut(s string) string { return problem.Truncate(s, 66) }
