package sourcetest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

// The App that the fake GitHub knows, and its installation.
const (
	AppID           = "7"
	AppInstallation = "42"
)

// appLonger is the longest lifetime of an App's own token that GitHub accepts.
const appLonger = 10 * time.Minute

// GitHub is a fake GitHub. It gives an App tokens of its installation, and serves a repository to
// clients with a valid one. Sources: docs.github.com, "Generating a JSON Web Token (JWT) for a
// GitHub App" and "Authenticating as a GitHub App installation".
type GitHub struct {
	URL string // of the API; with /.git, of the repository

	mu     sync.Mutex
	key    *rsa.PublicKey
	lives  time.Duration
	issued int
	ends   map[string]time.Time // by token
	seen   map[string]bool      // tokens that read the repository
}

// NewGitHub serves a repository. It returns the App's key in PEM.
func NewGitHub(t testing.TB, r *Repo) (g *GitHub, key string) {
	t.Helper()
	g = &GitHub{ends: map[string]time.Time{}, seen: map[string]bool{}}
	key = g.NewKey(t, time.Hour)
	repository := r.Server("", "", nil).Config.Handler
	mux := http.NewServeMux()
	mux.HandleFunc("POST /app/installations/"+AppInstallation+"/access_tokens", g.giveToken)
	mux.HandleFunc("/app/", http.NotFound)
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		if user, token, _ := q.BasicAuth(); user != "x-access-token" || !g.accepts(token) {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		repository.ServeHTTP(w, q)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g, key
}

// NewKey gives the App a new key, and its tokens a new lifetime.
func (g *GitHub) NewKey(t testing.TB, lives time.Duration) (key string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	Check(t, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.key, g.lives = &private.PublicKey, lives
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
}

// Revoke revokes all tokens, as when an installation is suspended.
func (g *GitHub) Revoke() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.ends)
}

// Tokens returns how many tokens the App got: ghs_1, ghs_2 and so on.
func (g *GitHub) Tokens() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.issued
}

// HasRead reports whether a token has been used to read the repository.
func (g *GitHub) HasRead(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen[token]
}

func (g *GitHub) accepts(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !time.Now().Before(g.ends[token]) {
		return false
	}
	g.seen[token] = true
	return true
}

func (g *GitHub) giveToken(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.check(r.Header.Get("Authorization")); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	g.issued++
	token, ends := fmt.Sprintf("ghs_%d", g.issued), time.Now().Add(g.lives)
	g.ends[token] = ends
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_at": ends})
}

// check verifies an App's own token: its signature, its issuer and both times.
func (g *GitHub) check(authorization string) error {
	text, is := strings.CutPrefix(authorization, "Bearer ")
	if !is {
		return errors.New("no bearer token")
	}
	claims := jwt.RegisteredClaims{}
	_, err := jwt.ParseWithClaims(text, &claims, func(t *jwt.Token) (any, error) {
		if t.Method != jwt.SigningMethodRS256 {
			return nil, errors.New("another method")
		}
		return g.key, nil
	})
	now := time.Now()
	switch {
	case err != nil:
		return err
	case claims.Issuer != AppID:
		return errors.New("another issuer")
	case claims.IssuedAt == nil || claims.IssuedAt.After(now):
		return errors.New("issued in the future")
	case claims.ExpiresAt == nil || claims.ExpiresAt.After(now.Add(appLonger)):
		return errors.New("lasts for more than ten minutes")
	}
	return nil
}
