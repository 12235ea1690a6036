package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

var three = map[string][]byte{"a.yaml": []byte("1"), "b/c/d.yaml": []byte("2"), "b/e.yaml": []byte("3")}

const threeThere = "a.yaml=1 b/ b/c/ b/c/d.yaml=2 b/e.yaml=3"

func TestWriteAllWritesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	if err := WriteAll(dir, three, nil); err != nil {
		t.Fatal(err)
	}
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
	if err := os.Symlink(outside, filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if err := WriteAll(dir, three, nil); err == nil {
		t.Error("a link is followed out of the folder")
	}
	if got := tree(t, outside); got != "" {
		t.Error(got)
	}
	if _, err := os.Lstat(filepath.Join(dir, "a.yaml")); err == nil {
		t.Error("one file of three is left")
	}
}

// A repository may have what looks like the rest of a killed process, with a link in the place of
// its lock: nothing is made where that leads to (H8).
func TestLockOfALeftoverIsNoLink(t *testing.T) {
	for name, write := range map[string]func(dir string) error{
		workPrefix(allName): func(dir string) error { return WriteAll(dir, three, nil) },
		workPrefix("out"):   func(dir string) error { return WriteFolder(filepath.Join(dir, "out"), three) },
	} {
		outside, dir := t.TempDir(), t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, name+"AAAAAAAA"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, "made"), filepath.Join(dir, name+"AAAAAAAA", "lock")); err != nil {
			t.Fatal(err)
		}
		if err := write(dir); err != nil {
			t.Error(err)
		}
		if got := tree(t, outside); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A process that is killed between two files leaves a part; the next call removes it, and what
// others have put there stays. One that is killed at its very end has written all.
func TestNewFilesOfAKilledProcessAreUndone(t *testing.T) {
	for after := range len(three) + 1 {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "b"), 0o755); err != nil {
			t.Fatal(err)
		}
		killed(t, dir, after)
		if after > 0 && !strings.Contains(tree(t, dir), "a.yaml=1") {
			t.Fatal("the test kills too early")
		}
		if err := os.WriteFile(filepath.Join(dir, "b", "mine"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := RemoveUnfinished(dir); err != nil {
			t.Fatal(err)
		}
		want := "b/ b/mine="
		if after == len(three) {
			want = "a.yaml=1 b/ b/c/ b/c/d.yaml=2 b/e.yaml=3 b/mine="
		}
		if got := tree(t, dir); got != want {
			t.Errorf("killed after %d: %s", after, got)
		}
	}
}

// killed is a WriteAll that ends after some files have their names.
func killed(t *testing.T, dir string, after int) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w, err := newWorkFolder(filepath.Join(dir, allName))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a.yaml", "b/c/d.yaml", "b/e.yaml"}
	err = errors.Join(fill(w.fresh(), three), w.link(root, names[:after]))
	if after == len(names) {
		err = errors.Join(err, os.Rename(w.fresh(), w.old()))
	}
	if err := errors.Join(err, w.lock.Close()); err != nil {
		t.Fatal(err)
	}
}

// Another process that is still at work is left alone.
func TestRemoveUnfinishedLeavesAWriterAlone(t *testing.T) {
	dir := t.TempDir()
	w, err := newWorkFolder(filepath.Join(dir, allName))
	if err != nil {
		t.Fatal(err)
	}
	defer w.lock.Close()
	if err := fill(w.fresh(), three); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	if err := RemoveUnfinished(dir); err != nil || tree(t, dir) != before {
		t.Errorf("%v: %s", err, tree(t, dir))
	}
}

// A process that is killed between two of its files leaves a part, whether they are new or
// replaced; the next one gives each file its content back. One that is killed at its very end has
// written all.
func TestWriteAllUndoesWhatAKilledOneLeft(t *testing.T) {
	replacements := []Replacement{{"a.yaml", []byte("1"), []byte("one")}, {"b/c/d.yaml", []byte("2"), []byte("two")}}
	files := map[string][]byte{"b/new.yaml": []byte("new"), "z/new.yaml": []byte("new")}
	all := map[string][]byte{"a.yaml": []byte("one"), "b/c/d.yaml": []byte("two"), "b/new.yaml": []byte("new"), "z/new.yaml": []byte("new")}
	const done = "a.yaml=one b/ b/c/ b/c/d.yaml=two b/e.yaml=3 b/new.yaml=new z/ z/new.yaml=new"
	for after := range 6 {
		dir := t.TempDir()
		if err := WriteAll(dir, three, nil); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		w, err := newWorkFolder(filepath.Join(dir, allName))
		if err != nil {
			t.Fatal(err)
		}
		steps := []func() error{
			func() error { return w.link(root, []string{"b/new.yaml"}) },
			func() error { return w.link(root, []string{"z/new.yaml"}) },
			func() error { return w.exchange(root, replacements[0]) },
			func() error { return w.exchange(root, replacements[1]) },
			func() error { return os.Rename(w.fresh(), w.old()) },
		}
		err = fill(w.fresh(), all)
		for _, step := range steps[:after] {
			err = errors.Join(err, step())
		}
		if err := errors.Join(err, w.lock.Close(), root.Close()); err != nil {
			t.Fatal(err)
		}
		if is := tree(t, dir); after == 3 && !strings.Contains(is, " a.yaml=one") {
			t.Fatal("the test kills too early: " + is)
		}
		want := threeThere
		if after == len(steps) {
			want = done
		}
		if err := RemoveUnfinished(dir); err != nil || tree(t, dir) != want {
			t.Errorf("killed after %d: %v, %s", after, err, tree(t, dir))
		}
		if after == len(steps) {
			continue
		}
		if err := WriteAll(dir, files, replacements); err != nil || tree(t, dir) != done {
			t.Errorf("again after %d: %v, %s", after, err, tree(t, dir))
		}
	}
}

// Nobody's change is overwritten, and then nothing at all is written.
func TestWriteAllKeepsWhatSomebodyElseChanged(t *testing.T) {
	dir := t.TempDir()
	if err := WriteAll(dir, three, nil); err != nil {
		t.Fatal(err)
	}
	err := WriteAll(dir, map[string][]byte{"new.yaml": nil}, []Replacement{{"a.yaml", []byte("1"), []byte("one")}, {"b/e.yaml", []byte("mine"), []byte("x")}})
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "b/e.yaml") || tree(t, dir) != threeThere {
		t.Errorf("%v, %s", err, tree(t, dir))
	}
}
