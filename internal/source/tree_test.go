package source

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// linked is a repository with links of all kinds, and what a snapshot of it holds.
var linked = map[string]string{
	"addons/a/values.yaml":      "a: 1\n",
	"addons/b/values.yaml":      "-> ../a/values.yaml",
	"addons/c":                  "-> a",
	"addons/d/values.yaml":      "-> ../c/values.yaml",
	"addons/text.yaml":          "-> ../README",
	"addons/self":               "-> ../addons",
	"addons/loop.yaml":          "-> loop2.yaml",
	"addons/loop2.yaml":         "-> loop.yaml",
	"addons/gone.yaml":          "-> nothing.yaml",
	"addons/gone":               "-> nothing",
	"addons/throughfile.yaml":   "-> a/values.yaml/../values.yaml",
	"addons/up.yaml":            "-> ../../secret.yaml",
	"addons/upagain.yaml":       "-> ../addons/a/../../../secret.yaml",
	"addons/indirect.yaml":      "-> up.yaml",
	"addons/passwd":             "-> /etc/passwd",
	"addons/passwd.yaml":        "-> /etc/passwd",
	"deep/one/two/values.yaml":  "two: 2\n",
	"deep/one/link":             "-> two",
	"deep/copy":                 "-> one",
	"README":                    "readme: true\n",
	"script.sh":                 "echo\n",
	"values.yaml.gotmpl":        "x: {{ .name }}\n",
	"versions/releases.json":    "{}\n",
	"versions/other.yml":        "{}\n",
	"versions/.hidden/one.yaml": "{}\n",
}

func linkedContents() map[string]string {
	broken := func(p, why string) string {
		return "error: " + p + ": symbolic link to " + why + "; expected a file inside the repository"
	}
	outside := func(p, target string) string { return broken(p, `"`+target+`" leads out of the repository`) }
	return map[string]string{
		"addons/a/values.yaml":      "a: 1\n",
		"addons/b/values.yaml":      "a: 1\n",
		"addons/c/values.yaml":      "a: 1\n",
		"addons/d/values.yaml":      "a: 1\n",
		"addons/text.yaml":          "readme: true\n",
		"addons/loop.yaml":          broken("addons/loop.yaml", `"loop2.yaml" leads in a circle`),
		"addons/loop2.yaml":         broken("addons/loop2.yaml", `"loop.yaml" leads in a circle`),
		"addons/gone.yaml":          broken("addons/gone.yaml", `"nothing.yaml" leads to nothing`),
		"addons/throughfile.yaml":   broken("addons/throughfile.yaml", `"a/values.yaml/../values.yaml" leads to nothing`),
		"addons/up.yaml":            outside("addons/up.yaml", "../../secret.yaml"),
		"addons/upagain.yaml":       outside("addons/upagain.yaml", "../addons/a/../../../secret.yaml"),
		"addons/indirect.yaml":      outside("addons/indirect.yaml", "up.yaml"),
		"addons/passwd":             outside("addons/passwd", "/etc/passwd"),
		"addons/passwd.yaml":        outside("addons/passwd.yaml", "/etc/passwd"),
		"deep/one/two/values.yaml":  "two: 2\n",
		"deep/one/link/values.yaml": "two: 2\n",
		// What a linked folder holds, its own links included.
		"deep/copy/two/values.yaml":  "two: 2\n",
		"deep/copy/link/values.yaml": "two: 2\n",
		"values.yaml.gotmpl":         "x: {{ .name }}\n",
		"versions/releases.json":     "{}\n",
		"versions/other.yml":         "{}\n",
		"versions/.hidden/one.yaml":  "{}\n",
	}
}

// H8: links are followed inside the repository and nowhere else; a folder and a commit with the same files give the
// same contents and digests.
func TestH8_LinksAlikeInFolderAndGit(t *testing.T) {
	r := newRepo(t)
	write(t, filepath.Dir(r.dir), map[string]string{"secret.yaml": "secret: true\n"})
	r.commit(linked)
	folder, git := snap(t, openFolder(t, r.dir)), snap(t, openGit(t, Options{Location: r.url()}))
	if d := cmp.Diff(linkedContents(), contents(folder)); d != "" {
		t.Errorf("folder (-want +got):\n%s", d)
	}
	if d := cmp.Diff(linkedContents(), contents(git)); d != "" {
		t.Errorf("git (-want +got):\n%s", d)
	}
	if changed := snapshot.Changed(folder, git); len(changed) > 0 {
		t.Errorf("digests differ: %v", changed)
	}
}

// H8, against the operating system's own way with links: whatever random links lead to, a snapshot holds what reading
// the path gives if that is inside the folder, and an error if not.
func TestH8_LinksAsTheSystemFollowsThem(t *testing.T) {
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
		check(t, err)
		dir := filepath.Join(base, "repo")
		write(t, dir, map[string]string{"start.yaml": "start\n"})
		write(t, base, map[string]string{"c.yaml": "outside\n", "a/d.yaml": "outside\n"})
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
					check(t, os.WriteFile(place, fmt.Appendf(nil, "file %d\n", i), 0o644))
				}
			} else {
				_ = os.Symlink(some(4), place)
			}
		}
		s := snap(t, openFolder(t, dir))
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
		check(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, p)
			if err == nil && !d.IsDir() && wanted(rel) && s.File(filepath.ToSlash(rel)) == nil {
				if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
					t.Errorf("round %d: %s is missing", round, rel)
				}
			}
			return err
		}))
	}
}

// H10: folders that link to each other multiply; the number of files is bounded all the same.
func TestH10_LinksThatMultiply(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"l0/a.yaml": "a: 1\n", "l0/b.yaml": "b: 1\n"}
	for i := 1; i < 30; i++ {
		for j := range 2 {
			files[fmt.Sprintf("l%d/%d", i, j)] = fmt.Sprintf("-> ../l%d", i-1)
		}
	}
	write(t, dir, files)
	_, err := openFolder(t, dir).Snapshot(testContext(t))
	want := fmt.Sprintf("folder %q: entries through symbolic links: 100001, at most 100000", dir)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// H8: an absolute link is inside when it leads below the folder by either of its names.
func TestH8_AbsoluteLinks(t *testing.T) {
	base := t.TempDir()
	dir, alias := filepath.Join(base, "real"), filepath.Join(base, "alias")
	write(t, dir, map[string]string{
		"a.yaml":      "a: 1\n",
		"real.yaml":   "-> " + dir + "/a.yaml",
		"alias.yaml":  "-> " + alias + "/a.yaml",
		"beside.yaml": "-> " + dir + "-beside/a.yaml",
	})
	check(t, os.Symlink("real", alias))
	write(t, dir+"-beside", map[string]string{"a.yaml": "beside\n"})
	got := contents(snap(t, openFolder(t, alias)))
	if got["real.yaml"] != "a: 1\n" || got["alias.yaml"] != "a: 1\n" {
		t.Errorf("links below the folder: %q", got)
	}
	if s := snap(t, openFolder(t, alias)); s.File("beside.yaml").Err == nil {
		t.Errorf("beside.yaml leads out: %q", got["beside.yaml"])
	}
}
