package git

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

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/sourcetest"
)

// github is the one route of GitHub's API that an App needs, and the key that it knows.
type github struct {
	mu     sync.Mutex
	key    *rsa.PublicKey
	tokens int
	ends   time.Time // of the next token
}

func (g *github) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	claims := jwt.RegisteredClaims{}
	_, err := jwt.ParseWithClaims(text, &claims, func(t *jwt.Token) (any, error) {
		if t.Method != jwt.SigningMethodRS256 {
			return nil, errors.New("another method")
		}
		return g.key, nil
	})
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/app/installations/42/access_tokens":
		w.WriteHeader(http.StatusNotFound)
	case err != nil || claims.Issuer != "7":
		w.WriteHeader(http.StatusUnauthorized)
	default:
		g.tokens++
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": fmt.Sprintf("ghs_%d", g.tokens), "expires_at": g.ends})
	}
}

func appKeyOf(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	sourcetest.Check(t, err)
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// A GitHub App reads the repository with tokens that it asks for itself: one as long as it is good,
// another when it ends, and by another key once the Secret has one.
func TestGitHubAppReadsWithTokensOfItsOwn(t *testing.T) {
	key, text := appKeyOf(t)
	api := &github{key: &key.PublicKey, ends: time.Now().Add(time.Hour)}
	server := httptest.NewServer(api)
	defer server.Close()
	r := sourcetest.NewRepo(t)
	want := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	var seen sync.Map // passwords that reached the repository
	open := r.Server("", "", nil).Config.Handler
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		user, password, _ := q.BasicAuth()
		if user != appUser {
			w.Header().Set("WWW-Authenticate", `Basic realm="fleet"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		seen.Store(password, true)
		open.ServeHTTP(w, q)
	}))
	defer remote.Close()
	folder := t.TempDir()
	files := map[string]string{appID: "7\n", appInstallation: "42", appKey: text, appURL: server.URL}
	sourcetest.Write(t, folder, files)
	g := openGit(t, Options{Location: remote.URL + "/.git", Credentials: folder, StateDir: t.TempDir()})
	for range 2 {
		if s := sourcetest.Snapshot(t, g); s.Revision != want {
			t.Fatalf("got %s, want %s", s.Revision, want)
		}
	}
	if _, ok := seen.Load("ghs_1"); !ok || api.tokens != 1 {
		t.Errorf("%d tokens for two polls", api.tokens)
	}

	// The Secret has another key: the App asks for a token by that. It ends within a minute, so the
	// next poll has another one.
	key, text = appKeyOf(t)
	api.key, api.ends = &key.PublicKey, time.Now().Add(30*time.Second)
	sourcetest.Write(t, folder, map[string]string{appKey: text})
	for _, token := range []string{"ghs_2", "ghs_3"} {
		if s := sourcetest.Snapshot(t, g); s.Revision != want {
			t.Fatalf("got %s, want %s", s.Revision, want)
		}
		if _, ok := seen.Load(token); !ok {
			t.Errorf("the repository has not seen the token %s", token)
		}
	}

	// What is wrong is said without a token or a key, and the last snapshot stays.
	for detail, wrong := range map[string]map[string]string{
		"GitHub gives the App no token: 404 Not Found for installation 43":    {appInstallation: "43"},
		"GitHub gives the App no token: 401 Unauthorized for installation 42": {appID: "8"},
		"the file githubAppID has no number":                                  {appID: "my-app"},
		"the file githubAppPrivateKey has no private key (PEM, RSA)":          {appKey: "-----BEGIN"},
		"the file githubAppEnterpriseBaseUrl has no https URL":                {appURL: "http://github.example.com"},
		"GitHub's API cannot be reached for a token":                          {appURL: "https://127.0.0.1:1"},
	} {
		files[appKey] = text
		sourcetest.Write(t, folder, files)
		sourcetest.Write(t, folder, wrong)
		s, err := g.Snapshot(sourcetest.Context(t))
		var e *source.Error
		if !errors.As(err, &e) || e.Reason != source.Authentication || e.Detail != detail || s == nil || s.Revision != want {
			t.Errorf("%s: %v", detail, err)
		}
	}
}

// The API is that of the repository's own host.
func TestGitHubAppAsksTheHostsOwnAPI(t *testing.T) {
	for host, want := range map[string]string{
		"github.com": "https://api.github.com", "acme.ghe.com": "https://api.acme.ghe.com", "git.example.com:8443": "https://git.example.com:8443/api/v3",
	} {
		if got := apiOf(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
