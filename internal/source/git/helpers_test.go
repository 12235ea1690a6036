package git

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

func openGit(t testing.TB, o Options) *Repository {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	g, err := New(o)
	sourcetest.Check(t, err)
	t.Cleanup(func() { _ = g.Close() })
	return g
}
