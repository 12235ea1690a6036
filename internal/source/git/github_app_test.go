package git

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/sourcetest"
)

// A GitHub App reads the repository with tokens that it asks for itself: one as long as it is good,
// another when it ends or is revoked, and by another key once the Secret has one.
func TestGitHubAppReadsWithTokensOfItsOwn(t *testing.T) {
	r := sourcetest.NewRepo(t)
	want := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	github, key := sourcetest.NewGitHub(t, r)
	folder := t.TempDir()
	files := map[string]string{appID: sourcetest.AppID + "\n", appInstallation: sourcetest.AppInstallation, appKey: key, appURL: github.URL}
	sourcetest.Write(t, folder, files)
	g := openGit(t, Options{Location: github.URL + "/.git", Credentials: folder, StateDir: t.TempDir()})
	reads := func(tokens ...string) {
		t.Helper()
		for _, token := range tokens {
			if s := sourcetest.Snapshot(t, g); s.Revision != want {
				t.Fatalf("got %s, want %s", s.Revision, want)
			}
			if !github.HasRead(token) {
				t.Errorf("the repository has not seen the token %s", token)
			}
		}
	}
	reads("ghs_1", "ghs_1")
	if n := github.Tokens(); n != 1 {
		t.Errorf("%d tokens for two polls", n)
	}

	// GitHub revokes the token before its time: one poll fails, and the next one has another token.
	github.Revoke()
	if _, err := g.Snapshot(sourcetest.Context(t)); !errors.Is(err, source.Authentication) {
		t.Errorf("with a token that is revoked: %v", err)
	}
	reads("ghs_2")

	// The Secret has another key: the App asks for a token by that. It ends within a minute, so the
	// next poll has another one.
	key = github.NewKey(t, 30*time.Second)
	files[appKey] = key
	sourcetest.Write(t, folder, map[string]string{appKey: key})
	reads("ghs_3", "ghs_4")

	// What is wrong is said without a token or a key, and the last snapshot stays.
	for detail, wrong := range map[string]map[string]string{
		"GitHub gives the App no token: 404 Not Found for installation 43":    {appInstallation: "43"},
		"GitHub gives the App no token: 401 Unauthorized for installation 42": {appID: "8"},
		"the file githubAppID has no number":                                  {appID: "my-app"},
		"the file githubAppPrivateKey has no private key (PEM, RSA)":          {appKey: "-----BEGIN"},
		"the file githubAppEnterpriseBaseUrl has no https URL":                {appURL: "http://github.example.com"},
		"GitHub's API cannot be reached for a token":                          {appURL: "https://127.0.0.1:1"},
	} {
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

// H10: an API that sends an endless token does not fill the memory.
func TestGitHubsResponseIsBounded(t *testing.T) {
	var sent atomic.Int64
	const endless = 64 << 20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"token":"`)
		for text := bytes.Repeat([]byte("x"), 64<<10); sent.Load() < endless; {
			n, err := w.Write(text)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	repo := sourcetest.NewRepo(t)
	_, key := sourcetest.NewGitHub(t, repo)
	transport, err := newTransport([4]string{sourcetest.AppID, sourcetest.AppInstallation, key, server.URL}, "")
	sourcetest.Check(t, err)
	if _, err := transport.Token(sourcetest.Context(t)); err == nil {
		t.Error("an endless token is taken")
	}
	if n := sent.Load(); n >= endless {
		t.Errorf("%d bytes of a response were read", n)
	}
}
