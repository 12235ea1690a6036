package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// age makes files old enough for their times to be trusted, as if the test had waited.
func age(t testing.TB, f *Folder) {
	t.Helper()
	for p, seen := range f.seen {
		seen.racy = false
		f.seen[p] = seen
	}
	for p, l := range f.listings {
		l.racy = false
		f.listings[p] = l
	}
}

func TestFolder_UnchangedFilesAreNotReadAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "notes.txt": "no\n"})
	f := openFolder(t, dir)
	first := snap(t, f)
	age(t, f)
	reads := f.reads
	if again := snap(t, f); again != first || f.reads != reads {
		t.Errorf("unchanged: other snapshot %v, %d files read", again != first, f.reads-reads)
	}
	age(t, f)
	write(t, dir, map[string]string{"a.yaml": "a: 2, longer\n"})
	second := snap(t, f)
	if d := cmp.Diff([]string{"a.yaml"}, snapshot.Changed(first, second)); d != "" || f.reads != reads+1 {
		t.Errorf("changed %s, %d files read", d, f.reads-reads)
	}
	if first.File("b/c.yaml") != second.File("b/c.yaml") {
		t.Error("the entry of an unchanged file is a new one")
	}
	if first.Revision == second.Revision || string(first.File("a.yaml").Data) != "a: 1\n" {
		t.Error("the first snapshot has changed")
	}
	check(t, os.Remove(filepath.Join(dir, "b", "c.yaml")))
	if third := snap(t, f); third.Len() != 1 {
		t.Errorf("a removed file is still there: %v", third.Paths())
	}
}

// A write that leaves size and times as they were is seen if the file was young at the look before.
func TestFolder_RacyWrites(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	f := openFolder(t, dir)
	snap(t, f)
	write(t, dir, map[string]string{"a.yaml": "a: 2\n"})
	root, err := openRoot(dir)
	check(t, err)
	defer root.close()
	stat, _, err := root.lstat("a.yaml")
	check(t, err)
	seen := f.seen["a.yaml"]
	seen.stat = stat // as a coarse clock would have it
	f.seen["a.yaml"] = seen
	if got := string(snap(t, f).File("a.yaml").Data); got != "a: 2\n" {
		t.Errorf("got %q", got)
	}
}

// Times of a file put back (cp -p, rsync -t) do not hide a change: ctime and inode tell.
func TestFolder_SameSizeAndTime(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	f := openFolder(t, dir)
	name := filepath.Join(dir, "a.yaml")
	old := time.Now().Add(-time.Hour)
	check(t, os.Chtimes(name, old, old))
	snap(t, f)
	age(t, f)
	write(t, dir, map[string]string{"new.yaml": "a: 2\n"})
	check(t, os.Chtimes(filepath.Join(dir, "new.yaml"), old, old))
	check(t, os.Rename(filepath.Join(dir, "new.yaml"), name))
	if got := string(snap(t, f).File("a.yaml").Data); got != "a: 2\n" {
		t.Errorf("got %q", got)
	}
}

// G4, G5: a folder that is not there, no folder, or empty is an error, the same each time, and never an empty snapshot.
func TestG4_FolderErrors(t *testing.T) {
	base := t.TempDir()
	write(t, base, map[string]string{"file": "x", "empty/notes.txt": "x", "fifo/a.txt": "x"})
	check(t, syscall.Mkfifo(filepath.Join(base, "fifo", "a.yaml"), 0o644))
	for name, want := range map[string]string{
		"missing": "no such folder", "file": "not a folder",
		"empty": "no .yaml, .yml, .json or .gotmpl file in it", "fifo": "no .yaml, .yml, .json or .gotmpl file in it",
	} {
		dir := filepath.Join(base, name)
		f := openFolder(t, dir)
		for range 2 {
			s, err := f.Snapshot(testContext(t))
			if want := fmt.Sprintf("folder %q: %s", dir, want); s != nil || err == nil || err.Error() != want {
				t.Errorf("%s: got %v, %v, want %s", name, s, err, want)
			}
		}
	}
	_, err := openFolder(t, filepath.Join(base, "missing")).Snapshot(testContext(t))
	if !errors.Is(err, NotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reason of %v: %s", err, ReasonOf(err))
	}
}

// G4: when the folder vanishes, the last snapshot stays usable, and the folder's return is noticed.
func TestG4_FolderVanishes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	f := openFolder(t, dir)
	first := snap(t, f)
	check(t, os.Rename(dir, dir+".away"))
	if s, err := f.Snapshot(testContext(t)); s != first || !errors.Is(err, NotFound) {
		t.Errorf("got %v, %v", s, err)
	}
	check(t, os.Rename(dir+".away", dir))
	if s := snap(t, f); s != first {
		t.Error("another snapshot for the same content")
	}
}

// H10: files over the limit are entries with an error, and not read; too many files or bytes are an error.
func TestH10_FolderLimits(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.yaml": "0123456789", "b.yaml": "01234567890", "c/d.yaml": "0123456789"})
	f, err := NewFolder(dir, Limits{FileSize: 10})
	check(t, err)
	s := snap(t, f)
	if err := s.File("b.yaml").Err; err == nil || err.Error() != "b.yaml: file of 11 bytes; expected at most 10 bytes" {
		t.Errorf("too large: %v", err)
	}
	if s.File("a.yaml").Err != nil || f.reads != 2 {
		t.Errorf("%v, %d files read", s.File("a.yaml").Err, f.reads)
	}
	for _, c := range []struct {
		limits Limits
		want   string
	}{
		{Limits{Files: 2}, "files: 3, at most 2"},
		{Limits{Bytes: 20}, "bytes of all files: 31, at most 20"},
	} {
		f, err := NewFolder(dir, c.limits)
		check(t, err)
		_, err = f.Snapshot(testContext(t))
		if want := fmt.Sprintf("folder %q: %s", dir, c.want); !errors.Is(err, LimitExceeded) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	many := t.TempDir()
	for i := range 21 {
		write(t, many, map[string]string{fmt.Sprintf("%d.txt", i): ""})
	}
	f, err = NewFolder(many, Limits{Files: 2})
	check(t, err)
	if _, err := f.Snapshot(testContext(t)); err == nil || err.Error() != fmt.Sprintf("folder %q: entries: 21, at most 20", many) {
		t.Errorf("entries: %v", err)
	}
}

// Kubernetes mounts a ConfigMap as links into a folder that it swaps.
func TestFolder_ConfigMapMount(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"..2026_01/layout.yaml": "old\n", "..data": "-> ..2026_01", "layout.yaml": "-> ..data/layout.yaml",
	})
	f := openFolder(t, dir)
	if d := cmp.Diff(map[string]string{"layout.yaml": "old\n"}, contents(snap(t, f))); d != "" {
		t.Error(d)
	}
	write(t, dir, map[string]string{"..2026_02/layout.yaml": "new\n"})
	check(t, os.Symlink("..2026_02", filepath.Join(dir, "..tmp")))
	check(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	check(t, os.RemoveAll(filepath.Join(dir, "..2026_01")))
	if d := cmp.Diff(map[string]string{"layout.yaml": "new\n"}, contents(snap(t, f))); d != "" {
		t.Error(d)
	}
}

// git-sync swaps a link to a working tree, and removes the old one.
func TestFolder_IsALink(t *testing.T) {
	base := t.TempDir()
	write(t, base, map[string]string{"one/a.yaml": "1\n", "one/.git": "gitdir: x\n", "one/same.yaml": "s\n", "current": "-> one"})
	f := openFolder(t, filepath.Join(base, "current"))
	first := snap(t, f)
	write(t, base, map[string]string{"two/a.yaml": "2\n", "two/same.yaml": "s\n", "next": "-> two"})
	check(t, os.Rename(filepath.Join(base, "next"), filepath.Join(base, "current")))
	check(t, os.RemoveAll(filepath.Join(base, "one")))
	second := snap(t, f)
	if d := cmp.Diff(map[string]string{"a.yaml": "2\n", "same.yaml": "s\n"}, contents(second)); d != "" {
		t.Error(d)
	}
	if first.File("same.yaml") != second.File("same.yaml") {
		t.Error("the entry of an unchanged file is a new one")
	}
}

// What is another repository's is left out of a clone, as it is of Git's trees; a folder may be put together of clones.
func TestFolder_ClonesBelow(t *testing.T) {
	files := map[string]string{"a.yaml": "1\n", "sub/.git": "gitdir: x\n", "sub/b.yaml": "2\n", "clone/.git/config": "\n", "clone/deep/c.yaml": "3\n"}
	dir := t.TempDir()
	write(t, dir, files)
	if d := cmp.Diff(map[string]string{"a.yaml": "1\n", "sub/b.yaml": "2\n", "clone/deep/c.yaml": "3\n"}, contents(snap(t, openFolder(t, dir)))); d != "" {
		t.Errorf("no clone: %s", d)
	}
	write(t, dir, map[string]string{".git": "gitdir: x\n"})
	if d := cmp.Diff(map[string]string{"a.yaml": "1\n"}, contents(snap(t, openFolder(t, dir)))); d != "" {
		t.Errorf("a clone: %s", d)
	}
}

type update struct {
	s   *snapshot.Snapshot
	err error
}

// watching runs Watch for the time of the test.
func watching(t *testing.T, s Source) <-chan update {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	updates, done := make(chan update, 100), make(chan struct{})
	go func() {
		defer close(done)
		s.Watch(ctx, func(s *snapshot.Snapshot, err error) { updates <- update{s, err} })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return updates
}

func next(t *testing.T, updates <-chan update) update {
	t.Helper()
	select {
	case u := <-updates:
		return u
	case <-time.After(deadline):
		t.Fatal("no update came")
		return update{}
	}
}

// Changes are noticed within two seconds; what does not change the content is not reported; errors are, once.
func TestFolder_Watch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	updates := watching(t, openFolder(t, dir))
	if u := next(t, updates); u.err != nil || u.s.Len() != 1 {
		t.Fatalf("first: %v", u.err)
	}
	write(t, dir, map[string]string{"a.yaml": "a: 1\n", "notes.txt": "x"}) // nothing new
	write(t, dir, map[string]string{"b.yaml": "b: 1\n"})
	u := next(t, updates)
	if u.err != nil || u.s.Len() != 2 {
		t.Errorf("second: %v, %v", u.s.Paths(), u.err)
	}
	if most := folderInterval + settleSteps*settleStep; most > 2*time.Second { // a clock would measure the machine's load
		t.Errorf("changes are noticed only after %s", most)
	}
	check(t, os.RemoveAll(dir))
	if u := next(t, updates); !errors.Is(u.err, NotFound) || u.s.Len() != 2 {
		t.Errorf("third: %v, %v", u.s.Paths(), u.err)
	}
	write(t, dir, map[string]string{"a.yaml": "a: 1\n"})
	// Not necessarily at once: the folder may have been seen while it was still empty.
	for u = next(t, updates); u.err != nil; u = next(t, updates) {
	}
	if u.s.Len() != 1 {
		t.Errorf("last: %v", u.s.Paths())
	}
}

// BenchmarkFolder states the cost of one poll of 20,000 files (2,000 clusters with 10 values files each), and of the
// first look.
func BenchmarkFolder(b *testing.B) {
	dir := b.TempDir()
	for i := range 20_000 {
		write(b, dir, map[string]string{fmt.Sprintf("addons/tenants/t%d/clusters/c%d/addons/x%d/values.yaml", i/1000, i/10, i%10): fmt.Sprintf("replicas: %d\n", i)})
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			snap(b, openFolder(b, dir))
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		f := openFolder(b, dir)
		snap(b, f)
		age(b, f)
		for b.Loop() {
			snap(b, f)
		}
	})
	b.Run("one-file", func(b *testing.B) {
		f := openFolder(b, dir)
		snap(b, f)
		age(b, f)
		for i := 0; b.Loop(); i++ {
			write(b, dir, map[string]string{"addons/one.yaml": fmt.Sprintf("one: %d\n", i)})
			snap(b, f)
		}
	})
}
