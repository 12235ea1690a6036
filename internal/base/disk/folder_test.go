package disk

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Several renders to one folder at once: it is whole at the end, one of theirs, and nothing is left
// beside it.
func TestWriteFolderAtOnce(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	sets := []map[string][]byte{{"a": []byte("1"), "b": []byte("1")}, {"a": []byte("2"), "c": []byte("2")}}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() { _ = WriteFolder(out, sets[i%2]) }) // one that comes too late says so
	}
	wg.Wait()
	got := map[string][]byte{}
	for _, name := range []string{"a", "b", "c"} {
		if data, err := os.ReadFile(filepath.Join(out, name)); err == nil {
			got[name] = data
		}
	}
	if same := func(want map[string][]byte) bool {
		return maps.EqualFunc(got, want, bytes.Equal)
	}; !same(sets[0]) && !same(sets[1]) {
		t.Errorf("%q", got)
	}
	require.NoError(t, WriteFolder(out, sets[0]))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}
