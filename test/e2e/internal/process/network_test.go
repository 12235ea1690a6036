//go:build linux

package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

// Rule 6.
func TestPrivateNetwork(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	forwarded := l.Addr().(*net.TCPAddr).Port
	own, down := freePort(t), freePort(t)
	s := child(t, "inside", strconv.Itoa(own), strconv.Itoa(forwarded), strconv.Itoa(down))
	s.Forward = []int{forwarded, down, forwarded}
	p, err := g.Start(t.Context(), s)
	require.NoError(t, err)
	for range 2 {
		conn, err := l.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		lines := bufio.NewScanner(conn)
		expect := func(want string) {
			t.Helper()
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("got %q, %v; expected %q; log:\n%s", lines.Text(), lines.Err(), want, read(t, p.Log()))
			}
		}
		expect("my own port answers me")
		if reachable(t, fmt.Sprintf("127.0.0.1:%d", own)) {
			t.Error("its port can be reached from outside")
		}
		expect("the other: true")
		for i := range 100 {
			fmt.Fprintln(conn, i)
			expect(fmt.Sprintf("echo %d", i))
		}
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		expect("the end: <nil>") // its stream is open still
		closed(t, p.Exited())
		if log := read(t, p.Log()); !strings.Contains(log, "exited with status 0") {
			t.Errorf("its status is not passed on; log:\n%s", log)
		}
		if err := p.Restart(t.Context()); err != nil { // in another namespace
			t.Fatal(err)
		}
	}
}

func TestPrivateNetworkPassesSignalsAndStatus(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	address := fmt.Sprintf("0.0.0.0:%d", freePort(t))
	s := child(t, "serve", address)
	s.Forward = []int{}
	s.ReadyLog = "serving, pid "
	p, err := g.Start(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, p.Restart(t.Context()))
	if log := read(t, p.Log()); !strings.Contains(log, "serving, pid "+strconv.Itoa(p.Pid())) {
		t.Errorf("started and restarted; log:\n%s", log)
	}
	if reachable(t, address) {
		t.Error("without ports to forward the network is not private")
	}
	require.NoError(t, p.Stop())
	if log := read(t, p.Log()); !strings.Contains(log, "ending in order") || !strings.Contains(log, "exited with status 0") {
		t.Errorf("log:\n%s", log)
	}
	s = child(t, "fail")
	s.Forward = []int{freePort(t)}
	s.Ready = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	if _, err := g.Start(t.Context(), s); err == nil || !strings.HasPrefix(err.Error(), "start fail: exited with status 3 before it was ready; the end of ") ||
		!strings.HasSuffix(err.Error(), "| line 40") {
		t.Error(err)
	}
}

// Rule 6: what is published can be reached from outside under another port, also after a restart;
// what is reached has another port outside; and the root folder is the process's own.
func TestPrivateNetworkPublishesAndReaches(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go answer(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "outside") }))
	root := t.TempDir()
	program, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	for name, data := range map[string]string{"program": string(program), "marker": "of the root"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(data), 0o700))
	}
	published := freePort(t)
	url := fmt.Sprintf("http://127.0.0.1:%d/", published)
	s := child(t, "rooted", "8443", "9443")
	s.Path, s.Root, s.Forward = "/program", root, []int{}
	s.Reach = map[int]int{9443: l.Addr().(*net.TCPAddr).Port}
	s.Publish = map[int]int{published: 8443}
	s.Ready = process.WaitHTTP(url, nil)
	p, err := g.Start(t.Context(), s)
	require.NoError(t, err)
	for range 2 {
		var all sync.WaitGroup
		for range 20 { // more connections than one at a time
			all.Go(func() {
				response, err := http.Get(url) //nolint:gosec // of this test
				if err != nil {
					t.Error(err)
					return
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if got := string(body); err != nil || got != "of the root; reached outside; / has marker, program" {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		all.Wait()
		if reachable(t, "127.0.0.1:8443") {
			t.Error("its own port can be reached from outside")
		}
		require.NoError(t, p.Restart(t.Context()))
	}
	require.NoError(t, p.Stop())
	if reachable(t, fmt.Sprintf("127.0.0.1:%d", published)) {
		t.Error("its port is still published")
	}
}

func TestPrivateNetworkThatCannotBe(t *testing.T) {
	t.Parallel()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"confined", t.TempDir()}, Env: []string{childVariable + "=confined"},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
		},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := string(out); !strings.HasPrefix(got, "start stubborn: make a private network namespace: ") || !strings.Contains(got, "; hint: it takes root (CAP_SYS_ADMIN") {
		t.Error(got)
	}
}

func TestPrivateNetworkWithoutInit(t *testing.T) {
	t.Parallel()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"forgetful", t.TempDir()}, Env: []string{childVariable + "=forgetful"}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := string(out); !strings.HasPrefix(got, "start stubborn: this program cannot make a private network; hint: call process.Init first") {
		t.Error(got)
	}
}
