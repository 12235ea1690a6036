package dir

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/sourcetest"
)

// H8, against the operating system's own way with links: whatever random links lead to, a snapshot
// holds what reading the path gives if that is inside the folder, and an error if not.
func TestLinksLeadWhereTheSystemFollowsThem(t *testing.T) {
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
			case f.Err != nil && inside:
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

// H10: folders that link to each other multiply; the number of files is bounded all the same.
func TestLinksThatMultiplyAreBounded(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"l0/a.yaml": "a: 1\n", "l0/b.yaml": "b: 1\n"}
	for i := 1; i < 30; i++ {
		for j := range 2 {
			files[fmt.Sprintf("l%d/%d", i, j)] = fmt.Sprintf("-> ../l%d", i-1)
		}
	}
	sourcetest.Write(t, dir, files)
	_, err := openFolder(t, dir).Snapshot(sourcetest.Context(t))
	want := fmt.Sprintf("folder %q: entries through symbolic links: 100001, at most 100000", dir)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
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
