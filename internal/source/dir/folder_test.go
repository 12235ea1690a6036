package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// age makes files old enough for their times to be trusted, as if the test had waited.
func age(t testing.TB, f *Folder) {
	t.Helper()
	for p, seen := range f.seen {
		seen.racy = false
		f.seen[p] = seen
	}
}

func TestFolder_UnchangedFilesAreNotReadAgain(t *testing.T) {
	dir := t.TempDir()
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "notes.txt": "no\n"})
	f := openFolder(t, dir)
	first := sourcetest.Snapshot(t, f)
	age(t, f)
	reads := f.reads
	if again := sourcetest.Snapshot(t, f); again != first || f.reads != reads {
		t.Errorf("unchanged: other snapshot %v, %d files read", again != first, f.reads-reads)
	}
	age(t, f)
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 2, longer\n"})
	second := sourcetest.Snapshot(t, f)
	if d := cmp.Diff([]string{"a.yaml"}, snapshot.Changed(first, second)); d != "" || f.reads != reads+1 {
		t.Errorf("changed %s, %d files read", d, f.reads-reads)
	}
	if first.File("b/c.yaml") != second.File("b/c.yaml") {
		t.Error("the entry of an unchanged file is a new one")
	}
	if first.Revision == second.Revision || string(first.File("a.yaml").Data) != "a: 1\n" {
		t.Error("the first snapshot has changed")
	}
	sourcetest.Check(t, os.Remove(filepath.Join(dir, "b", "c.yaml")))
	if third := sourcetest.Snapshot(t, f); third.Len() != 1 {
		t.Errorf("a removed file is still there: %v", third.Paths())
	}
}

// A write that leaves size and times as they were is seen if the file was young at the look before.
func TestFolder_RacyWrites(t *testing.T) {
	dir := t.TempDir()
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	f := openFolder(t, dir)
	sourcetest.Snapshot(t, f)
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 2\n"})
	root, err := os.OpenRoot(dir)
	sourcetest.Check(t, err)
	defer root.Close()
	info, err := root.Lstat("a.yaml")
	sourcetest.Check(t, err)
	seen := f.seen["a.yaml"]
	seen.stat = statOf(info) // as a coarse clock would have it
	f.seen["a.yaml"] = seen
	assert.Equal(t, "a: 2\n", string(sourcetest.Snapshot(t, f).File("a.yaml").Data))
}

// Times of a file put back (cp -p, rsync -t) do not hide a change: ctime and inode tell.
func TestFolder_SameSizeAndTime(t *testing.T) {
	dir := t.TempDir()
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	f := openFolder(t, dir)
	name := filepath.Join(dir, "a.yaml")
	old := time.Now().Add(-time.Hour)
	sourcetest.Check(t, os.Chtimes(name, old, old))
	sourcetest.Snapshot(t, f)
	age(t, f)
	sourcetest.Write(t, dir, map[string]string{"new.yaml": "a: 2\n"})
	sourcetest.Check(t, os.Chtimes(filepath.Join(dir, "new.yaml"), old, old))
	sourcetest.Check(t, os.Rename(filepath.Join(dir, "new.yaml"), name))
	assert.Equal(t, "a: 2\n", string(sourcetest.Snapshot(t, f).File("a.yaml").Data))
}

// G4, G5: a folder that is not there, no folder, or empty is an error, the same each time, and
// never an empty snapshot.
func TestFolderWithoutFilesIsAnError(t *testing.T) {
	base := t.TempDir()
	sourcetest.Write(t, base, map[string]string{"file": "x", "empty/notes.txt": "x", "fifo/a.txt": "x"})
	sourcetest.Check(t, syscall.Mkfifo(filepath.Join(base, "fifo", "a.yaml"), 0o644))
	for name, want := range map[string]string{
		"missing": "no such folder", "file": "not a folder",
		"empty": "no .yaml, .yml, .json or .gotmpl file in it", "fifo": "no .yaml, .yml, .json or .gotmpl file in it",
	} {
		dir := filepath.Join(base, name)
		f := openFolder(t, dir)
		for range 2 {
			s, err := f.Snapshot(sourcetest.Context(t))
			if want := fmt.Sprintf("folder %q: %s", dir, want); s != nil || err == nil || err.Error() != want {
				t.Errorf("%s: got %v, %v, want %s", name, s, err, want)
			}
		}
	}
	_, err := openFolder(t, filepath.Join(base, "missing")).Snapshot(sourcetest.Context(t))
	if !errors.Is(err, source.NotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reason of %v: %s", err, source.ReasonOf(err))
	}
}

// G4: when the folder vanishes, the last snapshot stays usable, and the folder's return is noticed.
func TestVanishedFolderKeepsLastSnapshot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	f := openFolder(t, dir)
	first := sourcetest.Snapshot(t, f)
	sourcetest.Check(t, os.Rename(dir, dir+".away"))
	if s, err := f.Snapshot(sourcetest.Context(t)); s != first || !errors.Is(err, source.NotFound) {
		t.Errorf("got %v, %v", s, err)
	}
	sourcetest.Check(t, os.Rename(dir+".away", dir))
	if s := sourcetest.Snapshot(t, f); s != first {
		t.Error("another snapshot for the same content")
	}
}

// H10: files over the limit are entries with an error, and not read; too many files or bytes are an
// error.
func TestFolderBeyondLimitsIsAnError(t *testing.T) {
	dir := t.TempDir()
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "0123456789", "b.yaml": "01234567890", "c/d.yaml": "0123456789"})
	f, err := New(dir, source.Limits{FileSize: 10})
	sourcetest.Check(t, err)
	s := sourcetest.Snapshot(t, f)
	if err := s.File("b.yaml").Err; err == nil || err.Error() != "b.yaml: file of 11 bytes; expected at most 10 bytes" {
		t.Errorf("too large: %v", err)
	}
	if s.File("a.yaml").Err != nil || f.reads != 2 {
		t.Errorf("%v, %d files read", s.File("a.yaml").Err, f.reads)
	}
	for _, c := range []struct {
		limits source.Limits
		want   string
	}{
		{source.Limits{Files: 2}, `files: 3, at most 2; "c" has the most files, 1: keep them out of the repository, or in one of its own`},
		{source.Limits{Bytes: 20}, `bytes of all files: 31, at most 20; "b.yaml" has the most bytes, 11: keep them out of the repository, or in one of its own`},
	} {
		f, err := New(dir, c.limits)
		sourcetest.Check(t, err)
		_, err = f.Snapshot(sourcetest.Context(t))
		if want := fmt.Sprintf("folder %q: %s", dir, c.want); !errors.Is(err, source.LimitExceeded) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	many := t.TempDir()
	for i := range 21 {
		sourcetest.Check(t, os.MkdirAll(filepath.Join(many, "empty", fmt.Sprint(i)), 0o755))
	}
	f, err = New(many, source.Limits{Files: 2})
	sourcetest.Check(t, err)
	if _, err := f.Snapshot(sourcetest.Context(t)); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf(`folder %q: entries: more than 20, which is the limit; "empty" has the most entries, 20`, many)) {
		t.Errorf("entries: %v", err)
	}
	for i := range 3 {
		sourcetest.Write(t, dir, map[string]string{fmt.Sprintf("..x/%d", i): "-> nowhere"})
	}
	f, err = New(dir, source.Limits{Files: 2})
	sourcetest.Check(t, err)
	if _, err := f.Snapshot(sourcetest.Context(t)); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf(`folder %q: symbolic links: 3, at most 2; "..x" has the most links, 3`, dir)) {
		t.Errorf("links: %v", err)
	}
}

// H10: of commits beyond a limit, memory holds only the last one's files, and the last snapshot's.
func TestFolderBeyondLimitsDoesNotGrow(t *testing.T) {
	dir := t.TempDir()
	sourcetest.Write(t, dir, map[string]string{"z.yaml": "z: 1\n"})
	f, err := New(dir, source.Limits{Files: 3})
	sourcetest.Check(t, err)
	first := sourcetest.Snapshot(t, f)
	for round := range 5 {
		sourcetest.Check(t, os.RemoveAll(filepath.Join(dir, "x")))
		for i := range 5 {
			sourcetest.Write(t, dir, map[string]string{fmt.Sprintf("x/%d-%d.yaml", round, i): "x: 1\n"})
		}
		if s, err := f.Snapshot(sourcetest.Context(t)); s != first || !errors.Is(err, source.LimitExceeded) {
			t.Fatalf("%v, %v", s, err)
		}
	}
	if len(f.seen) > 6 || f.seen["z.yaml"].file != first.File("z.yaml") {
		t.Errorf("%d files are in memory, z.yaml as %v", len(f.seen), f.seen["z.yaml"].file)
	}
}

// Kubernetes mounts a ConfigMap as links into a folder that it swaps.
func TestFolder_ConfigMapMount(t *testing.T) {
	dir := t.TempDir()
	sourcetest.Write(t, dir, map[string]string{
		"..2026_01/layout.yaml": "old\n", "..data": "-> ..2026_01", "layout.yaml": "-> ..data/layout.yaml",
	})
	f := openFolder(t, dir)
	assert.Equal(t, map[string]string{"layout.yaml": "old\n"}, sourcetest.Contents(sourcetest.Snapshot(t, f)))
	sourcetest.Write(t, dir, map[string]string{"..2026_02/layout.yaml": "new\n"})
	sourcetest.Check(t, os.Symlink("..2026_02", filepath.Join(dir, "..tmp")))
	sourcetest.Check(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	sourcetest.Check(t, os.RemoveAll(filepath.Join(dir, "..2026_01")))
	assert.Equal(t, map[string]string{"layout.yaml": "new\n"}, sourcetest.Contents(sourcetest.Snapshot(t, f)))
}

// git-sync swaps a link to a working tree, and removes the old one.
func TestFolder_IsALink(t *testing.T) {
	base := t.TempDir()
	sourcetest.Write(t, base, map[string]string{"one/a.yaml": "1\n", "one/.git": "gitdir: x\n", "one/same.yaml": "s\n", "current": "-> one"})
	f := openFolder(t, filepath.Join(base, "current"))
	first := sourcetest.Snapshot(t, f)
	sourcetest.Write(t, base, map[string]string{"two/a.yaml": "2\n", "two/same.yaml": "s\n", "next": "-> two"})
	sourcetest.Check(t, os.Rename(filepath.Join(base, "next"), filepath.Join(base, "current")))
	sourcetest.Check(t, os.RemoveAll(filepath.Join(base, "one")))
	second := sourcetest.Snapshot(t, f)
	assert.Equal(t, map[string]string{"a.yaml": "2\n", "same.yaml": "s\n"}, sourcetest.Contents(second))
	if first.File("same.yaml") != second.File("same.yaml") {
		t.Error("the entry of an unchanged file is a new one")
	}
}

// What is another repository's is left out of a clone, as it is of Git's trees; a folder may be put
// together of clones.
func TestFolder_ClonesBelow(t *testing.T) {
	files := map[string]string{"a.yaml": "1\n", "sub/.git": "gitdir: x\n", "sub/b.yaml": "2\n", "clone/.git/config": "\n", "clone/deep/c.yaml": "3\n"}
	dir := t.TempDir()
	sourcetest.Write(t, dir, files)
	assert.Equal(t, map[string]string{"a.yaml": "1\n", "sub/b.yaml": "2\n", "clone/deep/c.yaml": "3\n"}, sourcetest.Contents(sourcetest.Snapshot(t, openFolder(t, dir))), "no clone")
	sourcetest.Write(t, dir, map[string]string{".git": "gitdir: x\n"})
	assert.Equal(t, map[string]string{"a.yaml": "1\n"}, sourcetest.Contents(sourcetest.Snapshot(t, openFolder(t, dir))), "a clone")
}

// Changes are noticed within two seconds; what does not change the content is not reported; errors
// are, once.
func TestFolder_Watch(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "repo")
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	updates := sourcetest.Watch(t, openFolder(t, dir))
	if u := sourcetest.Next(t, updates); u.Err != nil || u.Snapshot.Len() != 1 {
		t.Fatalf("first: %v", u.Err)
	}
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 1\n", "notes.txt": "x"}) // nothing new
	sourcetest.Write(t, dir, map[string]string{"b.yaml": "b: 1\n"})
	u := sourcetest.Next(t, updates)
	if u.Err != nil || u.Snapshot.Len() != 2 {
		t.Errorf("second: %v, %v", u.Snapshot.Paths(), u.Err)
	}
	if most := folderInterval + quietSteps*quietStep; most > 2*time.Second { // a clock would measure the machine's load
		t.Errorf("changes are noticed only after %s", most)
	}
	sourcetest.Check(t, os.RemoveAll(dir))
	if u := sourcetest.Next(t, updates); !errors.Is(u.Err, source.NotFound) || u.Snapshot.Len() != 2 {
		t.Errorf("third: %v, %v", u.Snapshot.Paths(), u.Err)
	}
	sourcetest.Write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	// Not necessarily at once: the folder may have been seen while it was still empty.
	for u = sourcetest.Next(t, updates); u.Err != nil; u = sourcetest.Next(t, updates) {
	}
	assert.Equal(t, 1, u.Snapshot.Len(), "last: %v", u.Snapshot.Paths())
}

// BenchmarkFolder states the cost of one poll of 20,000 files (2,000 clusters with 10 values files
// each), and of the first look.
func BenchmarkFolder(b *testing.B) {
	dir := b.TempDir()
	for i := range 20_000 {
		sourcetest.Write(b, dir, map[string]string{fmt.Sprintf("addons/tenants/t%d/clusters/c%d/addons/x%d/values.yaml", i/1000, i/10, i%10): fmt.Sprintf("replicas: %d\n", i)})
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			sourcetest.Snapshot(b, openFolder(b, dir))
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		f := openFolder(b, dir)
		sourcetest.Snapshot(b, f)
		age(b, f)
		for b.Loop() {
			sourcetest.Snapshot(b, f)
		}
	})
	b.Run("one-file", func(b *testing.B) {
		f := openFolder(b, dir)
		sourcetest.Snapshot(b, f)
		age(b, f)
		for i := 0; b.Loop(); i++ {
			sourcetest.Write(b, dir, map[string]string{"addons/one.yaml": fmt.Sprintf("one: %d\n", i)})
			sourcetest.Snapshot(b, f)
		}
	})
}

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

func openFolder(t testing.TB, dir string) *Folder {
	t.Helper()
	f, err := New(dir, source.Limits{})
	sourcetest.Check(t, err)
	return f
}
