package gitserver

import (
	"net/http"
	"net/url"
	"strings"
)

// credentials are what a private repository asks for.
type credentials struct{ username, password string }

// Private has a repository ask for a username and a password from now on (1). It returns the
// address with both, for git itself.
func (s *Server) Private(repo, username, password string) (string, error) {
	u, err := url.Parse(s.URL(repo))
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword(username, password)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.private == nil {
		s.private = map[string]credentials{}
	}
	s.private[repo] = credentials{username, password}
	return u.String(), nil
}

// Away has a repository be unknown, or known again (7).
func (s *Server) Away(repo string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away == nil {
		s.away = map[string]bool{}
	}
	s.away[repo] = is
}

// admits reports whether a request may go on; if not, it is answered.
func (s *Server) admits(w http.ResponseWriter, r *http.Request) bool {
	repo := strings.TrimPrefix(r.URL.Path, "/")
	for _, ending := range []string{"/info/refs", "/git-upload-pack", "/git-receive-pack", ".git"} {
		repo = strings.TrimSuffix(repo, ending)
	}
	s.mu.Lock()
	wanted, isPrivate := s.private[repo]
	isAway := s.away[repo]
	s.mu.Unlock()
	if isAway {
		http.NotFound(w, r)
		return false
	}
	if username, password, _ := r.BasicAuth(); isPrivate && (credentials{username, password}) != wanted {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "credentials are missing or wrong", http.StatusUnauthorized)
		return false
	}
	return true
}
