package dir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/tree"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// H8, against the operating system's own way with links: whatever random links lead to, a snapshot
// holds what reading the path gives if that is inside the folder, and an error if not.
func TestLinksLeadWhereTheSystemFollowsThem(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c.yaml", "d.yaml", "..", "."}
	some := func(n int) string {
		parts := make([]string, 1+random.IntN(n))
		for i := range parts {
			parts[i] = names[random.IntN(len(names))]
		}
		return strings.Join(parts, "/")
	}
	for round := range 120 {
		base, err := filepath.EvalSymlinks(t.TempDir())
		sourcetest.Check(t, err)
		dir := filepath.Join(base, "repo")
		sourcetest.Write(t, dir, map[string]string{"start.yaml": "start\n"})
		sourcetest.Write(t, base, map[string]string{"c.yaml": "outside\n", "a/d.yaml": "outside\n"})
		for i := range 12 {
			place := filepath.Join(dir, filepath.Clean("/"+some(3)))
			if parent, err := filepath.EvalSymlinks(filepath.Dir(place)); err == nil && !strings.HasPrefix(parent, dir) {
				continue // would write outside
			}
			if os.MkdirAll(filepath.Dir(place), 0o755) != nil {
				continue
			}
			if random.IntN(3) == 0 {
				if _, err := os.Lstat(place); err != nil {
					sourcetest.Check(t, os.WriteFile(place, fmt.Appendf(nil, "file %d\n", i), 0o644))
				}
			} else {
				_ = os.Symlink(some(4), place)
			}
		}
		s := sourcetest.Snapshot(t, openFolder(t, dir))
		for _, p := range s.Paths() {
			f := s.File(p)
			real, err := filepath.EvalSymlinks(filepath.Join(dir, p))
			inside := err == nil && (real == dir || strings.HasPrefix(real, dir+"/"))
			switch {
			case f.Err == nil && !inside:
				t.Errorf("round %d: %s has content, but leads to %s (%v)", round, p, real, err)
			case f.Err != nil && inside && !f.Folder: // folders that lead to each other have no end
				t.Errorf("round %d: %s leads to %s: %v", round, p, real, f.Err)
			case f.Err == nil:
				if data, err := os.ReadFile(real); err != nil || !bytes.Equal(data, f.Data) {
					t.Errorf("round %d: %s is %q, want %q (%v)", round, p, f.Data, data, err)
				}
			}
		}
		// Nothing is left out: all that a walk finds by itself is there.
		sourcetest.Check(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, p)
			if err == nil && !d.IsDir() && (source.Limits{}).Wanted(rel) && s.File(filepath.ToSlash(rel)) == nil {
				if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
					t.Errorf("round %d: %s is missing", round, rel)
				}
			}
			return err
		}))
	}
}

// H8: a link that takes a folder's place between the listing of its parent and its own one does not
// make it empty, nor another folder: the poll starts again.
func TestLinkInAFoldersPlaceIsNotListed(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "repo")
	sourcetest.Write(t, base, map[string]string{"outside/a.txt": "", "repo/b/b.yaml": "b: 1\n", "repo/out": "-> ../outside", "repo/in": "-> b", "repo/file": ""})
	f := openFolder(t, dir)
	root, err := os.OpenRoot(dir)
	sourcetest.Check(t, err)
	defer root.Close()
	for _, p := range []string{"out", "in", "file", "gone", "b"} {
		w := &walk{Folder: f, ctx: sourcetest.Context(t), root: root, real: dir, tree: tree.New("test", f.limits, 0), found: map[string]readFile{}}
		if err := w.dir(p); errors.Is(err, source.Unstable) != (p != "b") {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// H10: folders that link to each other multiply: beyond the limit, the repository is refused. A
// circle of links is an error where it closes.
func TestLinksThatMultiplyAreRefused(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"x/l0/a.yaml": "a: 1\n", "x/l0/b.yaml": "b: 1\n", "other.yaml": "o: 1\n",
		"z/to": "-> ../circle/back/back", "circle/back": "-> ../around", "around/back": "-> ../circle", "around/a.yaml": "a: 1\n",
	}
	link := func(from, to int) {
		for i := from; i < to; i++ {
			for j := range 2 {
				files[fmt.Sprintf("x/l%d/%d", i, j)] = fmt.Sprintf("-> ../l%d", i-1)
			}
		}
		sourcetest.Write(t, dir, files)
	}
	link(1, 4)
	f := openFolder(t, dir)
	s := sourcetest.Snapshot(t, f)
	got := sourcetest.Contents(s)
	if got["x/l3/0/1/0/a.yaml"] != "a: 1\n" || got["circle/back/a.yaml"] != "a: 1\n" || !strings.Contains(sourcetest.ErrorText(s.File("circle/back/back/back/a.yaml").Err), "leads back to the folder") {
		t.Errorf("%v", s.Paths())
	}
	link(4, 30)
	kept, err := f.Snapshot(sourcetest.Context(t))
	if !errors.Is(err, source.LimitExceeded) || kept != s || !strings.Contains(err.Error(), `: files: more than 100000, which is the limit; "x`) {
		t.Errorf("%v, %v", kept, err)
	}
}

// H8: an absolute link is inside when it leads below the folder by either of its names.
func TestAbsoluteLinkInsideTheFolderIsFollowed(t *testing.T) {
	base := t.TempDir()
	dir, alias := filepath.Join(base, "real"), filepath.Join(base, "alias")
	sourcetest.Write(t, dir, map[string]string{
		"a.yaml":      "a: 1\n",
		"real.yaml":   "-> " + dir + "/a.yaml",
		"alias.yaml":  "-> " + alias + "/a.yaml",
		"beside.yaml": "-> " + dir + "-beside/a.yaml",
	})
	sourcetest.Check(t, os.Symlink("real", alias))
	sourcetest.Write(t, dir+"-beside", map[string]string{"a.yaml": "beside\n"})
	got := sourcetest.Contents(sourcetest.Snapshot(t, openFolder(t, alias)))
	if got["real.yaml"] != "a: 1\n" || got["alias.yaml"] != "a: 1\n" {
		t.Errorf("links below the folder: %q", got)
	}
	if s := sourcetest.Snapshot(t, openFolder(t, alias)); s.File("beside.yaml").Err == nil {
		t.Errorf("beside.yaml leads out: %q", got["beside.yaml"])
	}
}

// However deep it is, a file is read, and through links inside the folder.
func TestDeepFileIsRead(t *testing.T) {
	dir := t.TempDir()
	deep := strings.Repeat("d/", 100) + "deep.yaml"
	sourcetest.Write(t, dir, map[string]string{"a/b/c.yaml": "inside\n", "link": "-> a", "a/link.yaml": "-> b/c.yaml", deep: "deep\n"})
	got := sourcetest.Contents(sourcetest.Snapshot(t, openFolder(t, dir)))
	if got[deep] != "deep\n" || got["link/b/c.yaml"] != "inside\n" || got["a/link.yaml"] != "inside\n" {
		t.Errorf("got %v", got)
	}
}
