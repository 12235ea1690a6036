package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// tree are the files and folders below a folder, with their content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.IsDir() {
			out = append(out, rel+"/")
			return nil
		}
		data, err := os.ReadFile(p)
		out = append(out, rel+"="+string(data))
		return err
	})
	require.NoError(t, err)
	slices.Sort(out)
	return strings.Join(out, " ")
}

var three = map[string][]byte{"a.yaml": []byte("1"), "b/c/d.yaml": []byte("2"), "b/e.yaml": []byte("3")}

const threeThere = "a.yaml=1 b/ b/c/ b/c/d.yaml=2 b/e.yaml=3"

func TestWriteAllWritesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WriteAll(dir, three, nil))
	if got := tree(t, dir); got != threeThere {
		t.Error(got)
	}
	err := WriteAll(dir, map[string][]byte{"new/x": nil, "a.yaml": nil, "b/e.yaml": nil}, nil)
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "a.yaml, b/e.yaml") {
		t.Error(err)
	}
	if got := tree(t, dir); got != threeThere {
		t.Error(got)
	}
	// A file where a folder is to be: found only when the others have their names.
	err = WriteAll(dir, map[string][]byte{"0.yaml": nil, "a.yaml/x": nil, "z/y/x": nil}, nil)
	if err == nil {
		t.Error("a folder is made in the place of a file")
	}
	if got := tree(t, dir); got != threeThere {
		t.Error(got)
	}
}

// Nothing is written through a link that leaves the folder (H8).
func TestWriteAllStaysBelowItsFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "b")))
	if err := WriteAll(dir, three, nil); err == nil {
		t.Error("a link is followed out of the folder")
	}
	assert.Equal(t, "", tree(t, outside))
	if _, err := os.Lstat(filepath.Join(dir, "a.yaml")); err == nil {
		t.Error("one file of three is left")
	}
}

// Nobody's change is overwritten, and then nothing at all is written.
func TestWriteAllKeepsWhatSomebodyElseChanged(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WriteAll(dir, three, nil))
	err := WriteAll(dir, map[string][]byte{"new.yaml": nil}, []Replacement{{"a.yaml", []byte("1"), []byte("one")}, {"b/e.yaml", []byte("mine"), []byte("x")}})
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "b/e.yaml") || tree(t, dir) != threeThere {
		t.Errorf("%v, %s", err, tree(t, dir))
	}
}

// What has been written is undone, with its folders; what cannot be undone is named with Git's
// commands for it.
func TestWrittenFilesAreUndone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WriteAll(dir, three, nil))
	require.NoError(t, os.Chmod(filepath.Join(dir, "a.yaml"), 0o600))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	begin := func() *written {
		w := &written{root: root}
		err := errors.Join(w.create("b/new.yaml", nil), w.create("z/y/new.yaml", nil),
			w.replace(Replacement{"a.yaml", []byte("1"), []byte("one")}), w.replace(Replacement{"b/c/d.yaml", []byte("2"), []byte("two")}))
		if err != nil || tree(t, dir) != "a.yaml=one b/ b/c/ b/c/d.yaml=two b/e.yaml=3 b/new.yaml= z/ z/y/ z/y/new.yaml=" {
			t.Fatalf("%v: %s", err, tree(t, dir))
		}
		return w
	}
	if err := begin().undo(); err != nil || tree(t, dir) != threeThere {
		t.Errorf("%v: %s", err, tree(t, dir))
	}
	if info, err := os.Stat(filepath.Join(dir, "a.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode has become %v, %v", info.Mode(), err)
	}
	w := begin()
	for _, name := range []string{"b/new.yaml", "a.yaml"} { // a folder is now in their place
		require.NoError(t, errors.Join(root.Remove(name), root.MkdirAll(name+"/x", 0o755)))
	}
	const want = "a part is written; to undo it: git checkout -- a.yaml && git clean -fd -- b/new.yaml"
	if err := w.undo(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
