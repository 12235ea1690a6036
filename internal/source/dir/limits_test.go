package dir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// A folder beyond a limit is refused, and its files are read once; within the limit it is served
// as it is then.
func TestFolderBeyondALimitIsReadOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	large := filepath.Join(root, "b.yaml")
	sourcetest.Check(t, os.WriteFile(filepath.Join(root, "a.yaml"), []byte("a: 1\n"), 0o600))
	sourcetest.Check(t, os.WriteFile(large, []byte("b: "+strings.Repeat("x", 900)+"\n"), 0o600))
	f, err := New(root, source.Limits{Bytes: 904})
	sourcetest.Check(t, err)
	for range 3 {
		if s, err := f.Snapshot(sourcetest.Context(t)); s != nil || !errors.Is(err, source.LimitExceeded) {
			t.Fatalf("%v, %v; want a limit", s, err)
		}
		for p, file := range f.seen { // as if it had not been written just now
			file.racy = false
			f.seen[p] = file
		}
	}
	if f.reads != 1 {
		t.Errorf("%d files are read; want the first one, once", f.reads)
	}
	sourcetest.Check(t, os.Remove(large))
	if s := sourcetest.Snapshot(t, f); s.File("a.yaml") == nil || s.Len() != 1 {
		t.Errorf("the snapshot has %d files", s.Len())
	}
}
