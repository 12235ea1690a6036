package gitserver_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

// wait bounds what happens apart from the test.
const wait = 20 * time.Second

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(t, dir, args...)
	require.NoError(t, err)
	return out
}

func tryGit(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	out, err := gitcmd.Run(t.Context(), dir, append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
	return strings.TrimSpace(out), err
}

// served is a server with the repository fleet, a clone of it, and a channel that tells the pushes.
func served(t *testing.T) (s *gitserver.Server, clone string, pushes <-chan gitserver.Push) {
	t.Helper()
	s, err := gitserver.Start(t.Context(), filepath.Join(t.TempDir(), "repositories"))
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	sent := make(chan gitserver.Push, 10)
	s.OnPush(func(p gitserver.Push) { sent <- p })
	if _, err := s.Create("fleet"); err != nil {
		t.Fatal(err)
	}
	clone = filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "clone", "--quiet", s.URL("fleet"), clone)
	return s, clone, sent
}

func commit(t *testing.T, clone, file string, content []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(clone, file), content, 0o600))
	git(t, clone, "add", file)
	git(t, clone, "commit", "--quiet", "-m", file)
	return git(t, clone, "rev-parse", "HEAD")
}

// awaitPush awaits a push that changed certain files.
func awaitPush(t *testing.T, pushes <-chan gitserver.Push, files ...string) {
	t.Helper()
	select {
	case push := <-pushes:
		if want := (gitserver.Push{Repo: "fleet", Files: files}); !reflect.DeepEqual(push, want) {
			t.Errorf("got a push %+v, expected %+v", push, want)
		}
	case <-time.After(wait):
		t.Fatalf("no push reported within %s", wait)
	}
}

func TestPushAndClone(t *testing.T) {
	t.Parallel()
	s, clone, pushes := served(t)
	first := commit(t, clone, "a", []byte("a\n"))
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	awaitPush(t, pushes, "a")

	// More than http.postBuffer: git sends it in chunks.
	large := make([]byte, 3<<20)
	_, _ = rand.Read(large)
	second := commit(t, clone, "large", large)
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	awaitPush(t, pushes, "large")
	if got := git(t, clone, "ls-remote", "origin", "refs/heads/main"); !strings.HasPrefix(got, second) {
		t.Errorf("main is %s, expected %s", got, second)
	}

	for _, url := range []string{s.URL("fleet"), strings.TrimSuffix(s.URL("fleet"), ".git")} {
		again := filepath.Join(t.TempDir(), "again")
		git(t, t.TempDir(), "clone", "--quiet", "--depth=1", url, again)
		if got := git(t, again, "rev-parse", "HEAD"); got != second {
			t.Errorf("a clone of %s is at %s, expected %s", url, got, second)
		}
		git(t, again, "fetch", "--quiet", "origin", first) // by commit id, as Argo CD does
	}

	git(t, clone, "push", "--quiet", "--force", "origin", first+":main")
	awaitPush(t, pushes, "large")
	git(t, clone, "push", "--quiet", "origin", first+":refs/heads/release-next")
	awaitPush(t, pushes, "a")
	git(t, clone, "push", "--quiet", "origin", ":refs/heads/release-next")
	awaitPush(t, pushes)
}

// Pushes that change nothing are not reported (2): the next one reported is the one that does.
func TestOnPushTellsChanges(t *testing.T) {
	t.Parallel()
	_, clone, pushes := served(t)
	first := commit(t, clone, "a", []byte("a\n"))
	commit(t, clone, "b", []byte("b\n"))
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	awaitPush(t, pushes, "a", "b")
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	if _, err := tryGit(t, clone, "push", "--quiet", "origin", first+":main"); err == nil {
		t.Fatal("a push that is no fast-forward was taken without --force")
	}
	if _, err := tryGit(t, clone, "push", "--quiet", "origin", "HEAD:refs/heads/bad..name"); err == nil {
		t.Fatal("a branch with a bad name was taken")
	}
	commit(t, clone, "c", []byte("c\n"))
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	awaitPush(t, pushes, "c")
	select {
	case <-pushes:
		t.Error("got a push that changed nothing")
	default:
	}
}

// The push does not wait for its handler (2).
func TestOnPushIsApart(t *testing.T) {
	t.Parallel()
	s, clone, _ := served(t)
	release := make(chan struct{})
	entered := make(chan gitserver.Push, 2)
	s.OnPush(func(p gitserver.Push) {
		entered <- p
		<-release
	})
	commit(t, clone, "a", []byte("a\n"))
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	awaitPush(t, entered, "a")
	commit(t, clone, "b", []byte("b\n"))
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	close(release)
	awaitPush(t, entered, "b")
}

func TestDownAndUp(t *testing.T) {
	t.Parallel()
	s, clone, pushes := served(t)
	url := s.URL("fleet")
	commit(t, clone, "a", []byte("a\n"))
	require.NoError(t, s.Down())
	if _, err := tryGit(t, clone, "push", "origin", "HEAD:main"); err == nil || !strings.Contains(err.Error(), "onnect") {
		t.Fatalf("a push to a server that is down: %v, expected a refused connection", err)
	}
	require.NoError(t, s.Up())
	if got := s.URL("fleet"); got != url {
		t.Fatalf("back at %s, expected %s", got, url)
	}
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	awaitPush(t, pushes, "a")
	require.NoError(t, s.Close())
	if err := s.Up(); err == nil {
		t.Error("a closed server is up again")
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	s, _, _ := served(t)
	var port int
	address := strings.TrimPrefix(strings.TrimSuffix(s.URL("x"), "/x.git"), "http://127.0.0.1:")
	for _, digit := range address {
		port = port*10 + int(digit-'0')
	}
	_, err := gitserver.StartOn(t.Context(), t.TempDir(), port)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:"+address+" is in use by another process") {
		t.Errorf("a second server on the port: %v, expected it to name the address", err)
	}
}

// What the user has configured is of no effect (4).
func TestCleanEnvironment(t *testing.T) {
	home := t.TempDir()
	config := "[http]\n\tproxy = http://127.0.0.1:1\n[core]\n\thooksPath = /nowhere\n[receive]\n\tdenyCreates = true\n[init]\n\ttemplateDir = /nowhere\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600))
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", filepath.Join(home, "elsewhere"))
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	_, clone, pushes := served(t)
	commit(t, clone, "a", []byte("a\n"))
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	awaitPush(t, pushes, "a")
}

// While the server hangs, a reader waits and a push goes on (6).
func TestReadersOfAHangingServerWait(t *testing.T) {
	t.Parallel()
	s, clone, pushes := served(t)
	began, end := s.Hang()
	commit(t, clone, "a", []byte("a\n"))
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	awaitPush(t, pushes, "a")
	select {
	case <-began:
		t.Error("the push waits")
	default:
	}
	read := make(chan error, 1)
	go func() {
		_, err := gitcmd.Run(t.Context(), clone, "ls-remote", "origin")
		read <- err
	}()
	<-began
	select {
	case err := <-read:
		t.Errorf("the reader does not wait: %v", err)
	default:
	}
	end()
	if err := <-read; err != nil {
		t.Error(err)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	s, _, _ := served(t)
	for _, name := range []string{"", "../x", "a/b/c", "a.git", "fleet"} {
		if _, err := s.Create(name); err == nil {
			t.Errorf("create %q: no error", name)
		}
	}
}

// A private repository asks for its credentials (1), and one that is away is unknown (7); nobody
// else's is.
func TestPrivateRepository(t *testing.T) {
	t.Parallel()
	s, clone, _ := served(t)
	commit(t, clone, "a", []byte("a\n"))
	git(t, clone, "push", "--quiet", "origin", "HEAD:main")
	if _, err := s.Create("shop/cart"); err != nil {
		t.Fatal(err)
	}
	with, err := s.Private("shop/cart", "reader", "secret")
	require.NoError(t, err)
	git(t, clone, "push", "--quiet", with, "HEAD:main")
	git(t, clone, "ls-remote", strings.TrimSuffix(with, ".git"))
	for _, url := range []string{s.URL("shop/cart"), strings.TrimSuffix(s.URL("shop/cart"), ".git"), strings.Replace(with, "secret", "guess", 1)} {
		if out, err := tryGit(t, clone, "ls-remote", url); err == nil {
			t.Errorf("%s shows %s to everybody", url, out)
		}
	}
	s.Away("shop/cart", true)
	if _, err := tryGit(t, clone, "ls-remote", with); err == nil {
		t.Error("it is there")
	}
	git(t, clone, "ls-remote", s.URL("fleet"))
	s.Away("shop/cart", false)
	git(t, clone, "ls-remote", with)
}
