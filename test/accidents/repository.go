package accidents

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// folders are what a fleet consists of.
var folders = []string{"fleet", "addons", "resources", "versions", chartCatalogs}

// Repository is a clone of a fleet's repository that accidents happen to.
type Repository struct {
	dir  string
	good string // the last good commit
}

// Open takes a folder for a clone whose last commit is good.
func Open(dir string) (*Repository, error) {
	r := &Repository{dir: dir}
	var err error
	r.good, err = r.Git("rev-parse", "HEAD")
	return r, err
}

// Copy makes a repository of the fleet in a checkout.
func Copy(checkout, dir string) error {
	for _, f := range folders {
		if err := os.CopyFS(filepath.Join(dir, f), os.DirFS(filepath.Join(checkout, f))); err != nil {
			return err
		}
	}
	r := &Repository{dir: dir}
	if _, err := r.Git("init", "-q", "--template=", "-b", "main"); err != nil {
		return err
	}
	_, err := r.Commit("the fleet")
	return err
}

// Budget sets how many members may lose something by one answer, in a commit that is good.
func (r *Repository) Budget(maxRemovals int) (string, error) {
	layout := r.Path("fleet/layout.yaml")
	content, err := os.ReadFile(layout)
	if err != nil {
		return "", err
	}
	before, _, _ := strings.Cut(string(content), budget)
	if err := os.WriteFile(layout, fmt.Appendf([]byte(before), budget+"%d}\n", maxRemovals), 0o600); err != nil {
		return "", err
	}
	r.good, err = r.Commit("a budget of " + strconv.Itoa(maxRemovals))
	return r.good, err
}

const (
	budget = "guard: {maxRemovals: "
	limit  = 2 * time.Minute // of a git command
)

// Path is where a file of the repository is.
func (r *Repository) Path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// Git runs git there, as if nobody had configured it, and without what git does by itself after a
// commit.
func (r *Repository) Git(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0", "GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// Commit is the commit of everything as it is now.
func (r *Repository) Commit(message string) (string, error) {
	if _, err := r.Git("add", "-A"); err != nil {
		return "", err
	}
	if _, err := r.Git("commit", "-q", "--allow-empty", "-m", message); err != nil {
		return "", err
	}
	return r.Git("rev-parse", "HEAD")
}

// happen lets one accident happen. One that changes nothing, or finds nothing to happen to, gives
// way to another: that the history is replaced can always happen, so that this ends.
func (r *Repository) happen(rng *rand.Rand) (name, what string, err error) {
	all := slices.Concat(accidents, ofStructure, hostile)
	before, err := r.Git("rev-parse", "HEAD")
	if err != nil {
		return "", "", err
	}
	for {
		a := all[rng.IntN(len(all))]
		if what, err = a.do(r, rng); err != nil {
			return "", "", fmt.Errorf("%s: %w", a.name, err)
		}
		after, err := r.Git("rev-parse", "HEAD")
		if err != nil {
			return "", "", err
		}
		changed, err := r.Git("status", "--porcelain")
		if err != nil {
			return "", "", err
		}
		if what != "" && (after != before || changed != "") {
			return a.name, what, nil
		}
	}
}

// mend brings back the files of the last good commit.
func (r *Repository) mend() error {
	if _, err := r.Git("read-tree", "-u", "--reset", r.good); err != nil {
		return err
	}
	_, err := r.Git("clean", "-qfd")
	return err
}

// files are all files of the fleet below some folders, sorted.
func (r *Repository) files(below ...string) ([]string, error) {
	return r.find(below, func(e fs.DirEntry) bool { return e.Type().IsRegular() })
}

// directories are all folders below some folders, sorted.
func (r *Repository) directories(below ...string) ([]string, error) {
	return r.find(below, fs.DirEntry.IsDir)
}

func (r *Repository) find(below []string, keep func(fs.DirEntry) bool) ([]string, error) {
	var out []string
	for _, root := range below {
		err := filepath.WalkDir(r.Path(root), func(path string, e fs.DirEntry, err error) error {
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
