package githubapp

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// The API is that of the repository's own host.
func TestGitHubAppAsksTheHostsOwnAPI(t *testing.T) {
	for host, want := range map[string]string{
		"github.com": "https://api.github.com", "acme.ghe.com": "https://api.acme.ghe.com", "git.example.com:8443": "https://git.example.com:8443/api/v3",
	} {
		assert.Equal(t, want, apiOf(host), "%s", host)
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
	_, err = transport.Token(sourcetest.Context(t))
	if err = tokenError(err); err.Error() != "GitHub's API sends more than 1048576 bytes for a token" {
		t.Errorf("an endless token: %v", err)
	}
	if n := sent.Load(); n >= endless {
		t.Errorf("%d bytes of a response were read", n)
	}
}
