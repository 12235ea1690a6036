package atomicfile

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What is left of a render that was killed goes with the next one to the same folder, and gives its
// place back to what was there before; what a process writes that is alive, and what is another
// folder's, stays.
func TestWriteFolderRemovesLeftovers(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	create := func(files ...string) {
		for _, name := range files {
			name = filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	alive, err := newWorkFolder(out)
	if err != nil {
		t.Fatal(err)
	}
	stays := []string{filepath.Base(alive.path), ".argosy-new-other-ABCDEFGH", ".argosy-new-out-b-ABCDEFGH", ".argosy-new-out-ABCDEFGHI", ".argosy-new-out-FILEFILE", "out"}
	create(stays[1]+"/new/x", stays[2]+"/new/x", stays[3]+"/new/x", stays[4])
	create(".argosy-new-out-ABCDEFGH/lock", ".argosy-new-out-ABCDEFGH/new/x", ".argosy-new-out-BCDEFGHI/new/y")
	if err := os.MkdirAll(filepath.Join(dir, ".argosy-new-out-CDEFGHIJ"), 0o755); err != nil { // killed at once
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	files := map[string][]byte{"a": []byte("a"), "b/c": []byte("c")}
	if err := WriteFolder(out, files); err != nil {
		t.Fatal(err)
	}
	check(stays...)

	// Killed between the two renames: the folder has no place. What is no render's is reported with
	// what has got it back, too.
	if err := alive.end(out); err != nil {
		t.Fatal(err)
	}
	create(".argosy-new-out-ABCDEFGH/new/a")
	if err := errors.Join(os.Rename(out, filepath.Join(dir, ".argosy-new-out-ABCDEFGH/old")), os.WriteFile(filepath.Join(dir, ".argosy-new-out-ABCDEFGH/old/mine"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := WriteFolder(out, files); err == nil || !strings.Contains(err.Error(), "mine is not what render has written") {
		t.Error(err)
	}
	check(stays[1:]...)
	if _, err := os.Stat(filepath.Join(out, "b/c")); err != nil {
		t.Error(err)
	}
}

// A lock counts for the file that has the name: one that another process has removed, before it was
// locked, is nobody's.
func TestLockCountsForTheFileOfThatName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !hasItsName(f) {
		t.Error("it is there")
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if hasItsName(f) {
		t.Error("it is gone")
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if hasItsName(f) {
		t.Error("it is another one")
	}
}

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
	if err := WriteFolder(out, sets[0]); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}
