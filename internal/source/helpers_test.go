package source

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// deadline bounds what a test waits for.
const deadline = 20 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadline)
	t.Cleanup(cancel)
	return ctx
}

// write writes files below a folder; nil content removes one, "-> x" makes a symbolic link to x.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for p, content := range files {
		name := filepath.Join(dir, filepath.FromSlash(p))
		check(t, os.MkdirAll(filepath.Dir(name), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			_ = os.Remove(name)
			check(t, os.Symlink(target, name))
			continue
		}
		check(t, os.WriteFile(name, []byte(content), 0o644))
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repo is a Git repository with a working tree, written by the real git.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	r := &repo{t: t, dir: filepath.Join(t.TempDir(), "work")}
	check(t, os.MkdirAll(r.dir, 0o755))
	r.git("init", "--quiet", "--initial-branch=main")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@example.com")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// commit writes files and commits them, and gives the commit's id.
func (r *repo) commit(files map[string]string) string {
	r.t.Helper()
	write(r.t, r.dir, files)
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message=change")
	return r.git("rev-parse", "HEAD")
}

func (r *repo) url() string { return "file://" + r.dir }

// server serves the repository by git's own smart HTTP backend; with a password, to that user alone.
func (r *repo) server(username, password string, seen func(*http.Request)) *httptest.Server {
	r.t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	check(r.t, err)
	backend := &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + r.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
		Stderr: io.Discard,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if u, p, ok := q.BasicAuth(); password != "" && (!ok || u != username || p != password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="fleet"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if seen != nil {
			seen(q)
		}
		backend.ServeHTTP(w, q)
	}))
	r.t.Cleanup(s.Close)
	return s
}

func openGit(t testing.TB, o Options) *Git {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	g, err := NewGit(o)
	check(t, err)
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func openFolder(t testing.TB, dir string) *Folder {
	t.Helper()
	f, err := NewFolder(dir, Limits{})
	check(t, err)
	return f
}

func snap(t testing.TB, s Source) *snapshot.Snapshot {
	t.Helper()
	out, err := s.Snapshot(testContext(t))
	check(t, err)
	return out
}

// contents are a snapshot's files: path to content, or to "error: ...".
func contents(s *snapshot.Snapshot) map[string]string {
	out := map[string]string{}
	for _, p := range s.Paths() {
		if f := s.File(p); f.Err != nil {
			out[p] = "error: " + f.Err.Error()
		} else {
			out[p] = string(f.Data)
		}
	}
	return out
}
