package sourcetest

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

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Deadline bounds how long a test waits.
const Deadline = 20 * time.Second

// Context returns a context that ends with the test, or after twice the Deadline.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*Deadline)
	t.Cleanup(cancel)
	return ctx
}

// Write writes files below a folder; content "-> x" makes a symbolic link to x.
func Write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for p, content := range files {
		name := filepath.Join(dir, filepath.FromSlash(p))
		Check(t, os.MkdirAll(filepath.Dir(name), 0o755))
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			_ = os.Remove(name)
			Check(t, os.Symlink(target, name))
			continue
		}
		Check(t, os.WriteFile(name, []byte(content), 0o644))
	}
}

// Check fails the test if err is not nil.
func Check(t testing.TB, err error) {
	t.Helper()
	require.NoError(t, err)
}

// Repo is a Git repository with a working tree, written by the git command.
type Repo struct {
	T   testing.TB
	Dir string
}

// NewRepo makes an empty repository.
func NewRepo(t testing.TB) *Repo {
	t.Helper()
	r := &Repo{T: t, Dir: filepath.Join(t.TempDir(), "work")}
	// What git init writes, without its process and its examples of hooks. Tests start git often.
	for _, folder := range []string{"objects", "refs"} {
		Check(t, os.MkdirAll(filepath.Join(r.Dir, ".git", folder), 0o755))
	}
	Write(t, filepath.Join(r.Dir, ".git"), map[string]string{
		"HEAD":   "ref: refs/heads/main\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[maintenance]\n\tauto = false\n",
	})
	return r
}

// Git runs git in the repository and returns its output.
func (r *Repo) Git(args ...string) string {
	r.T.Helper()
	return r.GitInput("", args...)
}

// GitInput runs git with an input and returns its output.
func (r *Repo) GitInput(input string, args ...string) string {
	r.T.Helper()
	cmd := exec.Command("git", args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@example.com")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.T.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// Commit writes files, commits them, and returns the commit's id.
func (r *Repo) Commit(files map[string]string) string {
	r.T.Helper()
	Write(r.T, r.Dir, files)
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--message=change")
	head, err := os.ReadFile(filepath.Join(r.Dir, ".git", "HEAD"))
	if ref, ok := strings.CutPrefix(string(head), "ref: "); ok && err == nil {
		head, err = os.ReadFile(filepath.Join(r.Dir, ".git", strings.TrimSpace(ref)))
	}
	Check(r.T, err)
	return strings.TrimSpace(string(head))
}

// URL returns the file:// address of the repository.
func (r *Repo) URL() string { return "file://" + r.Dir }

// Server serves the repository by git's own smart HTTP backend. With a password, only that user may
// read it.
func (r *Repo) Server(username, password string, seen func(*http.Request)) *httptest.Server {
	r.T.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	Check(r.T, err)
	backend := &cgi.Handler{
		Path:   filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:    []string{"GIT_PROJECT_ROOT=" + r.Dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null"},
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
	r.T.Cleanup(s.Close)
	return s
}

// Snapshot reads a source, which must not fail.
func Snapshot(t testing.TB, s source.Source) *snapshot.Snapshot {
	t.Helper()
	out, err := s.Snapshot(Context(t))
	Check(t, err)
	return out
}

// Contents returns a snapshot's files: it maps paths to contents, or to "error: ...".
func Contents(s *snapshot.Snapshot) map[string]string {
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

// Update is one call of the function that Watch takes.
type Update struct {
	Snapshot *snapshot.Snapshot
	Err      error
}

// Watch runs the source's Watch until the test ends.
func Watch(t *testing.T, s source.Source) <-chan Update {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	updates, done := make(chan Update, 100), make(chan struct{})
	go func() {
		defer close(done)
		s.Watch(ctx, func(s *snapshot.Snapshot, err error) { updates <- Update{s, err} })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return updates
}

// Next waits for the next update.
func Next(t *testing.T, updates <-chan Update) Update {
	t.Helper()
	select {
	case u := <-updates:
		return u
	case <-time.After(Deadline):
		t.Fatal("no update came")
		return Update{}
	}
}

// ErrorText returns an error's text, "" without one.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
