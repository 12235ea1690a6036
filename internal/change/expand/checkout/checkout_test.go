package checkout

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	sourcedir "github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// tracking is a repository with a commit, and its snapshots: of the commit, and of the folder.
func tracking(t *testing.T, files, links map[string]string) (dir string, snapshots map[string]*snapshot.Snapshot) {
	t.Helper()
	dir = t.TempDir()
	place := func(p string) string {
		full := filepath.Join(dir, p)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		return full
	}
	for p, text := range files {
		require.NoError(t, os.WriteFile(place(p), []byte(text), 0o600))
	}
	for p, target := range links {
		require.NoError(t, os.Symlink(target, place(p)))
	}
	runGit(t, dir, "init", "--quiet", "--initial-branch=main")
	runGit(t, dir, "add", ".")
	runGit(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=x")
	limits := source.Limits{Charts: true}
	commit, err := git.Revision(context.Background(), dir, "main", limits)
	require.NoError(t, err)
	folder, err := sourcedir.New(dir, limits)
	require.NoError(t, err)
	now, err := folder.Snapshot(context.Background())
	require.NoError(t, err)
	return dir, map[string]*snapshot.Snapshot{"commit": commit, "folder": now}
}

func runGit(t *testing.T, dir string, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	text, err := cmd.Output()
	if err != nil && args[0] != "ls-files" {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(text), err == nil
}

var treeFiles = map[string]string{
	"a.yaml": "a", "b.json": "{}", "clusters/one/config.yaml": "x", "clusters/one/more/config.yaml": "x", "clusters/two/config.json": "{}",
	"clusters-x/config.yaml": "x", "clusters/.hidden/config.yaml": "x", ".github/flow.yaml": "x", "only/docs/README.md": "x", "only/.h/x.md": "x",
	"we[i]rd/c.yaml": "x", "clusters/-/config.yaml": "x", "clusters/]/config.yaml": "x", "sp ace/c.yaml": "x",
}

var treeLinks = map[string]string{"linked": "clusters", "clusters/link.yaml": "one/config.yaml", "clusters/nowhere": "nothing", "only/up": "../only"}

// A pattern names what `git ls-files` lists for it: the differential test for it, of patterns that
// people write and of any.
func TestFilesAreGits(t *testing.T) {
	dir, snapshots := tracking(t, treeFiles, treeLinks)
	patterns := []string{
		"a.yaml", ".", "./a.yaml", "clusters", "clusters/", "clusters/one", "clusters/*", "clusters/*/config.yaml", "clusters/**/config.yaml", "**/config.yaml", "*.json",
		"clusters/o?e/*", "clusters/[a-o]*/config.yaml", "clusters/[!o]*/config.yaml", "clusters/[^o]*", "clusters/[[:alpha:]]*/c*", "clusters/[]-]/*", "clusters/[o-z]ne/*", "clusters/[a-o]ne/*", "clusters/[!t-t]*/*", "[[:digit:]a]*", "clusters/[a-]/*",
		"we[i]rd/c.yaml", `we\[i]rd/c.yaml`, "we[[]i]rd/*", "clusters//one/", "clusters/two/../one/*", "clusters/{one,two}/*", "linked", "linked/*", "linked/one/config.yaml",
		"nothing", "*/config.yaml", "clusters*", "c*/", "", "..", "/a.yaml", "[", "clusters/[", "*\\", "sp ace/*", "only/**", "clusters/one/..", "clusters/one/.", "*//.", "?.yaml", "**", "***", "*?*", "[[:none:]]*",
	}
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"clusters", "/", "/", "*", "**", "?", "one", "config", ".yaml", "[a-z]", "[!o]", "[]", "]", "[", "-", "\\", "a", ".", "[[:lower:]]", "[^]c]", "[\\]a-]", "[a\\-c]", "[--a]"}
	for range 300 {
		var p strings.Builder
		for range 1 + random.IntN(6) {
			p.WriteString(parts[random.IntN(len(parts))])
		}
		patterns = append(patterns, p.String())
	}
	all := slices.Concat(slices.Collect(maps.Keys(treeFiles)), slices.Collect(maps.Keys(treeLinks)))
	for _, pattern := range patterns {
		listed, ok := runGit(t, dir, "ls-files", "--full-name", "-z", "--", cmp.Or(pattern, "."))
		spec, err := Parse(pattern)
		if ok != (err == nil) {
			t.Errorf("%q: %v, git: %v", pattern, err, ok)
			continue
		}
		if !ok {
			continue
		}
		want := strings.FieldsFunc(listed, func(r rune) bool { return r == 0 })
		var got []string
		for _, p := range all {
			if spec.Matches(p) {
				got = append(got, p)
			}
		}
		slices.Sort(got)
		assert.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"), "%q (-git +this)", pattern)
		for name, s := range snapshots {
			found := slices.Sorted(Files(s, spec.Within()))
			if missing := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return slices.Contains(found, p) }); len(missing) > 0 {
				t.Errorf("%q: %s: %v are not looked at", pattern, name, missing)
			}
		}
	}
	for name, s := range snapshots {
		listed, _ := runGit(t, dir, "ls-files", "-z")
		assert.Equal(t, strings.FieldsFunc(listed, func(r rune) bool { return r == 0 }), slices.Sorted(Files(s, ".")), "%s (-git +this)", name)
	}
}

// The folders are those of a checkout that are not hidden, in the order of a walk (argo-cd v2.14,
// GetGitDirectories).
func TestFoldersAreThoseOfACheckout(t *testing.T) {
	dir, snapshots := tracking(t, treeFiles, treeLinks)
	var want []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(dir, p); {
		case err != nil:
			return err
		case !e.IsDir() || rel == ".":
		case strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		default:
			want = append(want, rel)
		}
		return nil
	}))
	for name, s := range snapshots {
		assert.Equal(t, want, Folders(s), "%s (-checkout +this)", name)
	}
}
