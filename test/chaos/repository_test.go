package chaos

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folders are what a fleet consists of.
var folders = []string{"fleet", "addons", "resources", "versions", "charts/application-sets/catalogs"}

// repository is the fleet's, which the service reads.
type repository struct {
	dir  string
	good string // the last good commit
}

// newRepository is a copy of this repository's own fleet, with a removal budget.
func newRepository(t *testing.T, maxRemovals string) *repository {
	t.Helper()
	r := &repository{dir: t.TempDir()}
	for _, f := range folders {
		if err := os.CopyFS(filepath.Join(r.dir, f), os.DirFS(filepath.Join("..", "..", f))); err != nil {
			t.Fatal(err)
		}
	}
	layout := r.path("fleet/layout.yaml")
	content, err := os.ReadFile(layout)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(layout, append(content, "guard: {maxRemovals: "+maxRemovals+"}\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "gc.auto", "0"}} {
		if _, err := r.git(args...); err != nil {
			t.Fatal(err)
		}
	}
	if r.good, err = r.commit("the fleet"); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *repository) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

func (r *repository) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// commit is the commit of everything as it is now.
func (r *repository) commit(message string) (string, error) {
	if _, err := r.git("add", "-A"); err != nil {
		return "", err
	}
	if _, err := r.git("commit", "-q", "--allow-empty", "-m", message); err != nil {
		return "", err
	}
	return r.git("rev-parse", "HEAD")
}

// mend brings back the files of the last good commit.
func (r *repository) mend() error {
	if _, err := r.git("read-tree", "-u", "--reset", r.good); err != nil {
		return err
	}
	_, err := r.git("clean", "-qfd")
	return err
}

// files are all files of the fleet below some folders, sorted.
func (r *repository) files(below ...string) ([]string, error) {
	return r.find(below, func(e fs.DirEntry) bool { return e.Type().IsRegular() })
}

// directories are all folders below some folders, sorted.
func (r *repository) directories(below ...string) ([]string, error) {
	return r.find(below, fs.DirEntry.IsDir)
}

func (r *repository) find(below []string, keep func(fs.DirEntry) bool) ([]string, error) {
	var out []string
	for _, root := range below {
		err := filepath.WalkDir(r.path(root), func(path string, e fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err == nil && keep(e) {
				name, err := filepath.Rel(r.dir, path)
				if err != nil {
					return err
				}
				out = append(out, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return out, nil
}
