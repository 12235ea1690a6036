// Package gitserver serves bare Git repositories over smart HTTP on 127.0.0.1, as a Git host would,
// to git itself, to Argo CD and to Argosy's service alike.
//
//  1. The conversation is Git's own: each request is handed to `git http-backend`. Everybody may
//     read and push, forced pushes and deletions of branches included, but for a repository that is
//     private: whoever has not its username and password gets status 401.
//  2. OnPush is called after a push that changed a reference, once for each such push, in their
//     order, outside of the push: the client does not wait for it. A push that changed nothing (up
//     to date, rejected) is not reported. There are no hook scripts: the references are compared
//     when a push's request ends.
//  3. After Down the server is gone: connections are refused, open ones are cut. Up brings it back
//     on the same port.
//  4. Git runs without the configuration and the environment of the user who started the server
//     (package gitcmd).
//  5. What git says goes to server.log in the server's folder.
//  6. While it hangs, requests that read wait; pushes go on.
//  7. A repository that is away is unknown: requests get status 404.
package gitserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
)

// drainTimeout bounds the wait for requests that were cut off to end.
const drainTimeout = 10 * time.Second

// Server serves the repositories of a folder.
type Server struct {
	dir     string
	backend string // git-http-backend
	address string
	log     *slog.Logger
	logFile *os.File
	pushes  notifier

	requests atomic.Int64 // under way
	hanging  atomic.Pointer[hang]

	mu      sync.Mutex // guards what follows
	server  *http.Server
	closed  bool
	private map[string]credentials // by repository
	away    map[string]bool
}

// Start serves the repositories below dir, which is made if need be, on a free port until Close or
// until the context ends.
func Start(ctx context.Context, dir string) (*Server, error) { return StartOn(ctx, dir, 0) }

// StartOn is Start on a given port.
func StartOn(ctx context.Context, dir string, port int) (*Server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("git server: %w", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("git server: %w", err)
	}
	execPath, err := gitcmd.Run(ctx, dir, "--exec-path")
	if err != nil {
		return nil, fmt.Errorf("git server: %w", err)
	}
	s := &Server{
		dir:     dir,
		backend: filepath.Join(strings.TrimSpace(execPath), "git-http-backend"),
		address: fmt.Sprintf("127.0.0.1:%d", port),
	}
	if _, err := os.Stat(s.backend); err != nil {
		return nil, fmt.Errorf("git server: %w\n  hint: some distributions package git http-backend apart from git", err)
	}
	if s.logFile, err = os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("git server: %w", err)
	}
	s.log = slog.New(slog.NewTextHandler(s.logFile, nil))
	if err := s.Up(); err != nil {
		return nil, errors.Join(err, s.logFile.Close())
	}
	s.pushes.start()
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return s, nil
}

var repoName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*)?$`)

// Create makes an empty repository whose default branch is main, and returns its folder.
func (s *Server) Create(repo string) (string, error) {
	if !repoName.MatchString(repo) {
		return "", fmt.Errorf("git server: create %q: expected a name of letters, digits, '-' and '_', or an owner's and a name", repo)
	}
	path := filepath.Join(s.dir, repo+".git")
	if _, err := os.Stat(path); err == nil {
		return "", fmt.Errorf("git server: create %q: %s exists already", repo, path)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := gitcmd.Run(ctx, s.dir, "init", "--quiet", "--bare", "--initial-branch=main", "--template=", path); err != nil {
		return "", fmt.Errorf("git server: create %q: %w", repo, err)
	}
	for key, value := range map[string]string{
		"http.receivepack": "true", // without it only authenticated users push
		// Argo CD and the service fetch by commit id, with old protocols too, and partially.
		"uploadpack.allowReachableSHA1InWant": "true",
		"uploadpack.allowFilter":              "true",
		// Nothing runs in the background after a push.
		"receive.autogc":   "false",
		"gc.auto":          "0",
		"maintenance.auto": "false",
	} {
		if _, err := gitcmd.Run(ctx, path, "config", key, value); err != nil {
			return "", fmt.Errorf("git server: create %q: %w", repo, err)
		}
	}
	return path, nil
}

// URL is where a repository is cloned from.
func (s *Server) URL(repo string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("http://%s/%s.git", s.address, repo)
}

// OnPush has a function called after each push that changed a reference, in their
// order (2). It replaces the function given before.
func (s *Server) OnPush(f func(Push)) { s.pushes.set(f) }

// Up serves again after Down. It does nothing while the server is up.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("git server: up: it is closed; start another")
	case s.server != nil:
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", s.address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("git server: %s is in use by another process: %w\n  hint: end it, or choose another port", s.address, err)
	}
	if err != nil {
		return fmt.Errorf("git server: %w", err)
	}
	s.address = listener.Addr().String()
	server := &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.server = server
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the server has ended", "error", err)
		}
	}()
	return nil
}

// hang is a time in which requests that read wait.
type hang struct {
	first        sync.Once
	began, ended chan struct{}
}

// Hang has requests that read wait until end is called, or their clients are gone (6). Began is
// closed when the first one waits.
func (s *Server) Hang() (began <-chan struct{}, end func()) {
	h := &hang{began: make(chan struct{}), ended: make(chan struct{})}
	s.hanging.Store(h)
	return h.began, sync.OnceFunc(func() {
		s.hanging.CompareAndSwap(h, nil)
		close(h.ended)
	})
}

// wait keeps a request waiting while the server hangs.
func (s *Server) wait(ctx context.Context) {
	h := s.hanging.Load()
	if h == nil {
		return
	}
	h.first.Do(func() { close(h.began) })
	select {
	case <-h.ended:
	case <-ctx.Done():
	}
}

// Down refuses connections and cuts open ones, until Up (3).
func (s *Server) Down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down()
}

func (s *Server) down() error {
	if s.server == nil {
		return nil
	}
	err := s.server.Close()
	s.server = nil
	deadline := time.After(drainTimeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.requests.Load() > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			return errors.Join(err, fmt.Errorf("git server: down: requests still run %s after they were cut off", drainTimeout))
		}
	}
	return err
}

// Close ends the server for good. The repositories stay. It may be called again.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.down()
	s.pushes.stop()
	return errors.Join(err, s.logFile.Close())
}
