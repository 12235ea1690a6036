package gitserver

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
)

// serve answers one request of Git's.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	defer s.requests.Add(-1)
	if !s.admits(w, r) {
		return
	}
	if r.ContentLength < 0 {
		body, err := unchunk(r)
		if err != nil {
			s.log.Warn("a request cannot be read", "path", r.URL.Path, "error", err)
			http.Error(w, "the request cannot be read", http.StatusBadRequest)
			return
		}
		defer body.Close()
	}
	repo, push := pushed(r)
	if !push {
		if r.URL.Query().Get("service") != "git-receive-pack" { // else it is the beginning of a push
			s.wait(r.Context())
		}
		s.backendFor(r).ServeHTTP(w, r)
		return
	}
	before := s.references(repo)
	s.backendFor(r).ServeHTTP(w, r)
	if after := s.references(repo); after != before {
		s.log.Info("pushed", "repo", repo)
		s.pushes.add(Push{Repo: repo, Files: s.changes(repo, before, after)})
	}
}

// pushed tells whether a request is a push, and to which repository.
func pushed(r *http.Request) (repo string, push bool) {
	path, push := strings.CutSuffix(r.URL.Path, "/git-receive-pack")
	repo = strings.TrimSuffix(strings.TrimPrefix(path, "/"), ".git")
	return repo, push && r.Method == http.MethodPost && repoName.MatchString(repo)
}

func (s *Server) backendFor(r *http.Request) *cgi.Handler {
	return &cgi.Handler{
		Path: s.backend,
		Dir:  s.dir,
		// PATH is handed on by the handler itself; GIT_PROTOCOL is how a client asks for version 2.
		Env: append(gitcmd.Env(s.dir),
			"GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL="+r.Header.Get("Git-Protocol")),
		Logger: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		Stderr: s.logFile,
	}
}

// references are a repository's references and what they point at; the same text means that nothing
// changed.
func (s *Server) references(repo string) string {
	// Not the request's context: who has pushed may be gone already.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	refs, err := gitcmd.Run(ctx, filepath.Join(s.dir, repo+".git"), "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		s.log.Warn("references cannot be listed", "repo", repo, "error", err)
	}
	return refs
}

// changes are the files that differ between two states of a repository's references.
func (s *Server) changes(repo, before, after string) []string {
	old := map[string]string{}
	for line := range strings.Lines(before) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		old[ref] = commit
	}
	var files []string
	for line := range strings.Lines(after) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if old[ref] != commit {
			files = append(files, s.changed(repo, cmp.Or(old[ref], emptyTree), commit)...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// emptyTree is Git's tree without files.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

func (s *Server) changed(repo, from, to string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	names, err := gitcmd.Run(ctx, filepath.Join(s.dir, repo+".git"), "diff", "--name-only", "--no-renames", "-z", from, to)
	if err != nil {
		s.log.Warn("changes cannot be listed", "repo", repo, "error", err)
	}
	return strings.FieldsFunc(names, func(r rune) bool { return r == 0 })
}

// unchunk gives a chunked request a length: git pushes in chunks beyond http.postBuffer (1 MiB),
// and net/http/cgi refuses those. The body goes through a file that has no name, which the caller
// closes.
func unchunk(r *http.Request) (*os.File, error) {
	file, err := os.CreateTemp("", "argosy-e2e-push-")
	if err != nil {
		return nil, err
	}
	length, err := io.Copy(file, r.Body)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err = errors.Join(err, os.Remove(file.Name())); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.Body, r.ContentLength, r.TransferEncoding = file, length, nil
	return file, nil
}
