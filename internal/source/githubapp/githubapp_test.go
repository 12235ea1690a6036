package githubapp

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// The API is that of the repository's own host.
func TestGitHubAppAsksTheHostsOwnAPI(t *testing.T) {
	for host, want := range map[string]string{
		"github.com": "https://api.github.com", "acme.ghe.com": "https://api.acme.ghe.com", "git.example.com:8443": "https://git.example.com:8443/api/v3",
	} {
		assert.Equal(t, want, apiOf(host), "%s", host)
	}
}
