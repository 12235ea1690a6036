package dir

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

func openFolder(t testing.TB, dir string) *Folder {
	t.Helper()
	f, err := New(dir, source.Limits{})
	sourcetest.Check(t, err)
	return f
}
