package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func TestWriteReplacesWholeFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, want := range []string{"a long content", "short", ""} {
		require.NoError(t, Write(path, ".new-", []byte(want)))
		if have, err := os.ReadFile(path); err != nil || string(have) != want {
			t.Errorf("%q, %v; want %q", have, err, want)
		}
	}
	if err := Write(filepath.Join(dir, "nosuch", "file"), ".new-", nil); err == nil {
		t.Error("a file is written into a folder that is not there")
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if err := Write(filepath.Join(dir, "folder"), ".new-", nil); err == nil {
		t.Error("a file is written over a folder")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v: a failed write leaves a file", entries, err)
	}
}
