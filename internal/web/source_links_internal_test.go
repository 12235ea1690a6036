package web

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestLinksWithMounts: with mounts, or a layout of --layout, a revision names more than the commit.
// A file of a mount is in no place of the fleet repository (U1).
func TestLinksWithMounts(t *testing.T) {
	t.Parallel()
	l, err := newSourceLinks("https://github.com/acme/fleet.git")
	require.NoError(t, err)
	commit := strings.Repeat("2", 40)
	for _, revision := range []string{commit, commit + "+a88a359a4c1a", commit + "+layout-0123456789ab+a88a359a4c1a"} {
		want := "https://github.com/acme/fleet/blob/" + commit + "/a/b.yaml#L3"
		assert.Equal(t, want, l.of(problem.Pos{File: "a/b.yaml", Line: 3}, revision), "%s", revision)
		assert.Equal(t, "", l.of(problem.Pos{Repository: "https://git.example.com/shop/cart.git", File: "a/b.yaml", Line: 3}, revision), "a file of a mount")
	}
}
