//go:build linux

package process_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

func newGroup(t *testing.T) *process.Group {
	t.Helper()
	g := process.NewGroup(filepath.Join(t.TempDir(), "logs"))
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// serving starts a server and returns its address.
func serving(t *testing.T, g *process.Group, name string, args ...string) (*process.Process, string) {
	t.Helper()
	port := freePort(t)
	address := "127.0.0.1:" + strconv.Itoa(port)
	s := child(t, "serve", append([]string{address}, args...)...)
	s.Name, s.Ports = name, []int{port}
	s.Ready = process.WaitHTTP("http://"+address, nil)
	p, err := g.Start(t.Context(), s)
	require.NoError(t, err)
	return p, address
}

func reachable(t *testing.T, address string) bool {
	t.Helper()
	return process.WaitTCP(address)(t.Context()) == nil
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func closed(t *testing.T, exited <-chan struct{}) {
	t.Helper()
	select {
	case <-exited:
	case <-time.After(20 * time.Second):
		t.Fatal("not exited within 20s")
	}
}

// Rule 1: in reverse order, by SIGTERM; rule 2: each in a process group of its own.
func TestStopEndsAllInReverseOrder(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	order := filepath.Join(t.TempDir(), "order")
	var addresses []string
	var processes []*process.Process
	for i := range 3 {
		p, address := serving(t, g, fmt.Sprintf("serve-%d", i), order)
		if pgid, err := syscall.Getpgid(p.Pid()); err != nil || pgid != p.Pid() {
			t.Errorf("process group of %d: %d, %v", p.Pid(), pgid, err)
		}
		addresses, processes = append(addresses, address), append(processes, p)
	}
	for range 2 { // the second time does nothing
		require.NoError(t, g.Stop())
	}
	slices.Reverse(addresses)
	if got, want := read(t, order), strings.Join(addresses, "\n")+"\n"; got != want {
		t.Errorf("ended in this order:\n%sexpected\n%s", got, want)
	}
	for _, p := range processes {
		closed(t, p.Exited())
		if p.Pid() != 0 {
			t.Errorf("%s has pid %d", p.Name(), p.Pid())
		}
		if log := read(t, p.Log()); !strings.Contains(log, "ending in order") || !strings.Contains(log, "exited with status 0") {
			t.Errorf("log of %s:\n%s", p.Name(), log)
		}
	}
	if _, err := g.Start(t.Context(), child(t, "stubborn")); err == nil || !strings.Contains(err.Error(), "start stubborn: the group of processes is stopped") {
		t.Errorf("a start after the group's end: %v", err)
	}
}

// Rule 1: SIGKILL comes after SIGTERM; rule 2: and takes what the process started.
func TestStopEndsTheStubbornAndTheirChildren(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	s := child(t, "stubborn")
	s.StopTimeout = 100 * time.Millisecond
	stubborn, err := g.Start(t.Context(), s)
	require.NoError(t, err)
	eventually(t, "SIGTERM is ignored", func() bool { return strings.Contains(read(t, stubborn.Log()), "pid") })
	address := "127.0.0.1:" + strconv.Itoa(freePort(t))
	s = child(t, "parent", address)
	s.Ready = process.WaitHTTP("http://"+address, nil)
	if _, err := g.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, g.Stop())
	if log := read(t, stubborn.Log()); !strings.Contains(log, "still running 100ms after SIGTERM") || !strings.Contains(log, "was ended by signal 9") {
		t.Errorf("log:\n%s", log)
	}
	eventually(t, "the grandchild is gone", func() bool { return !reachable(t, address) })
}

// Rule 1: the kernel ends what the group's holder leaves behind, inside private networks too.
func TestDeathOfTheHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, credential := range map[string]*syscall.Credential{"as this user": nil, "as nobody": {Uid: 65534, Gid: 65534}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if credential != nil && os.Geteuid() != 0 {
				t.Skip("this user is not root: the other case is this one")
			}
			logs := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			for _, d := range []string{filepath.Dir(dir), dir} {
				require.NoError(t, os.Chmod(d, 0o755))
			}
			require.NoError(t, os.Mkdir(logs, 0o755))
			if credential != nil {
				require.NoError(t, os.Chown(logs, int(credential.Uid), int(credential.Gid)))
			}
			holder := &exec.Cmd{
				Path: "/proc/self/exe", Args: []string{"holder", logs, strconv.Itoa(freePort(t))}, Env: []string{childVariable + "=holder"}, Stderr: os.Stderr,
				SysProcAttr: &syscall.SysProcAttr{Credential: credential},
			}
			out, err := holder.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, holder.Start())
			t.Cleanup(func() { _ = holder.Process.Kill() })
			line, _ := bufio.NewReader(out).ReadString('\n')
			var outer, inner int
			if _, err := fmt.Sscan(line, &outer, &inner); err != nil {
				t.Fatalf("the holder said %q: %v", line, err)
			}
			if gone(outer) || gone(inner) {
				t.Fatal("the processes do not run")
			}
			require.NoError(t, holder.Process.Kill())
			_ = holder.Wait()
			eventually(t, "its processes are gone", func() bool { return gone(outer) && gone(inner) })
		})
	}
}

// Rule 1: the parent-death signal is not that of a thread which ends earlier than the group.
func TestDeathOfTheStartingThread(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	address := "127.0.0.1:" + strconv.Itoa(freePort(t))
	type started struct {
		process *process.Process
		thread  int
		err     error
	}
	result := make(chan started, 1)
	var start func()
	start = func() {
		runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			defer runtime.UnlockOSThread() // but for the first thread, which is kept from the next goroutine meanwhile
			next := make(chan struct{})
			go func() { defer close(next); start() }()
			<-next
			return
		}
		p, err := g.Start(t.Context(), child(t, "serve", address))
		result <- started{p, syscall.Gettid(), err}
	}
	go start()
	s := <-result
	if s.err != nil {
		t.Fatal(s.err)
	}
	eventually(t, "the thread has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", s.thread))
		return errors.Is(err, os.ErrNotExist)
	})
	eventually(t, "the process serves, or has ended", func() bool { return reachable(t, address) || s.process.Pid() == 0 })
	if !reachable(t, address) {
		t.Errorf("it has ended; log:\n%s", read(t, s.process.Log()))
	}
}

// Rule 3.
func TestExitBeforeReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := process.NewGroup(dir)
	s := child(t, "fail")
	s.Ready = func(context.Context) error { return errors.New("nobody answers") }
	_, err := g.Start(t.Context(), s)
	want := "start fail: exited with status 3 before it was ready: nobody answers; the end of " + dir + "/fail.log:"
	for i := range 15 {
		want += fmt.Sprintf("\n  | line %d", 26+i)
	}
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nexpected:\n%s", err, want)
	}
}

// Rule 3: nothing is left running.
func TestNotReady(t *testing.T) {
	t.Parallel()
	never := func(context.Context) error { return errors.New("not yet") }
	tests := map[string]struct {
		start func(ctx context.Context, g *process.Group, s process.Spec) error
		want  string
	}{
		"deadline": {
			want: "start stubborn: not ready within 300ms: not yet; ",
			start: func(ctx context.Context, g *process.Group, s process.Spec) error {
				s.ReadyTimeout = 300 * time.Millisecond
				_, err := g.Start(ctx, s)
				return err
			},
		},
		"log": {
			want: `start stubborn: not ready within 300ms: "fluent" is not in its log; `,
			start: func(ctx context.Context, g *process.Group, s process.Spec) error {
				s.Ready, s.ReadyLog, s.ReadyTimeout = nil, "fluent", 300*time.Millisecond
				_, err := g.Start(ctx, s)
				return err
			},
		},
		"canceled": {
			want: "start stubborn: enough: not yet; ",
			start: func(ctx context.Context, g *process.Group, s process.Spec) error {
				ctx, cancel := context.WithCancelCause(ctx)
				s.Ready = func(ctx context.Context) error { cancel(errors.New("enough")); return never(ctx) }
				_, err := g.Start(ctx, s)
				return err
			},
		},
		"stopped": {
			want: "start stubborn: the group of processes is stopped: not yet",
			start: func(ctx context.Context, g *process.Group, s process.Spec) error {
				stopped := make(chan error, 1)
				once := false
				s.Ready = func(ctx context.Context) error {
					if !once {
						once = true
						go func() { stopped <- g.Stop() }()
					}
					return never(ctx)
				}
				_, err := g.Start(ctx, s)
				return errors.Join(err, <-stopped)
			},
		},
		"hanging": {
			want: "start stubborn: not ready within 300ms",
			start: func(ctx context.Context, g *process.Group, s process.Spec) error {
				s.ReadyTimeout = 300 * time.Millisecond
				s.Ready = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
				_, err := g.Start(ctx, s)
				return err
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := child(t, "stubborn")
			s.StopTimeout = 10 * time.Millisecond
			s.Ready = never
			err := tt.start(t.Context(), process.NewGroup(dir), s)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v\nexpected %s", err, tt.want)
			}
			if m := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(read(t, dir+"/stubborn.log")); m != nil {
				if pid, err := strconv.Atoi(m[1]); err != nil || !gone(pid) {
					t.Errorf("pid %s still runs", m[1])
				}
			}
		})
	}
}

func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	g.OnExit = func(_ *process.Process, err error) { t.Errorf("OnExit for an end that was asked for: %v", err) }
	p, address := serving(t, g, "serve")
	first, exited := p.Pid(), p.Exited()
	for range 2 {
		require.NoError(t, p.Kill())
	}
	closed(t, exited)
	if reachable(t, address) || p.Pid() != 0 {
		t.Error("killed, and still there")
	}
	for range 2 { // once when it is down, once when it runs
		require.NoError(t, p.Restart(t.Context()))
		if !reachable(t, address) || p.Pid() == first || p.Pid() == 0 {
			t.Errorf("restarted, and not there; pid %d", p.Pid())
		}
	}
	require.NoError(t, p.Kill())
	held, err := net.Listen("tcp", address) // as what it was starting when it was killed
	require.NoError(t, err)
	time.AfterFunc(100*time.Millisecond, func() { _ = held.Close() })
	if err := p.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	if log := read(t, p.Log()); strings.Count(log, "serving, pid") != 4 || strings.Count(log, "ending in order") != 1 {
		t.Errorf("log:\n%s", log)
	}
	if _, err := g.Start(t.Context(), child(t, "serve", address)); err == nil || !strings.Contains(err.Error(), "start serve: a process of that name runs already") {
		t.Errorf("a second one of the name: %v", err)
	}
	require.NoError(t, p.Stop())
	if reachable(t, address) {
		t.Error("stopped, and still there")
	}
}

func TestUnexpectedExitIsTold(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	exits := make(chan error, 1)
	g.OnExit = func(_ *process.Process, err error) { exits <- err }
	p, address := serving(t, g, "serve")
	_ = process.WaitHTTP("http://"+address+"/exit", nil)(t.Context())
	closed(t, p.Exited())
	if err := <-exits; !strings.HasPrefix(err.Error(), "serve: exited with status 7; the end of ") || !strings.HasSuffix(err.Error(), "\n  | asked to exit") {
		t.Error(err)
	}
}

func TestTwoGroupsAtOnce(t *testing.T) {
	t.Parallel()
	one, other := newGroup(t), newGroup(t)
	_, ended := serving(t, one, "serve")
	_, stays := serving(t, other, "serve")
	require.NoError(t, one.Stop())
	if reachable(t, ended) || !reachable(t, stays) {
		t.Error("expected the one group's process to have ended, and the other's to run")
	}
}

// Rule 5.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	g := newGroup(t)
	_, address := serving(t, g, "serve")
	resp, err := http.Get("http://" + address + "/env")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	want := childVariable + "=serve\nPATH=" + os.Getenv("PATH") + "\n"
	if percent, ok := os.LookupEnv("GOGC"); ok {
		want += "GOGC=" + percent + "\n"
	}
	if got := string(text); got != want {
		t.Errorf("environment:\n%s\nexpected\n%s", got, want)
	}
}

func TestSpecsThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	taken := l.Addr().String()
	_, port, _ := net.SplitHostPort(taken)
	number, _ := strconv.Atoi(port)
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("no program\n"), 0o700))
	never := func(context.Context) error { return errors.New("not yet") }
	tests := map[string]struct {
		spec process.Spec
		want string
	}{
		"format":          {process.Spec{Name: "a", Path: script}, "start a: fork/exec " + script + ": exec format error"},
		"private format":  {process.Spec{Name: "a", Path: script, Forward: []int{}}, "start a: exec " + script + ": exec format error; "},
		"name":            {process.Spec{Name: "a/b", Path: "true"}, `process name "a/b": expected letters`},
		"path":            {process.Spec{Name: "a", Path: "/no/such/program"}, "start a: find the program: "},
		"dir":             {process.Spec{Name: "a", Path: "true", Dir: "/no/such/directory"}, "start a: working directory: stat /no/such/directory: no such file"},
		"port":            {process.Spec{Name: "a", Path: "true", Ports: []int{0}}, "port 0: expected 1 to 65535"},
		"port taken":      {process.Spec{Name: "a", Path: "true", Ports: []int{number}}, "start a: port " + port + " of 127.0.0.1 is taken by another process"},
		"port forwarded":  {process.Spec{Name: "a", Path: "true", Ports: []int{1234}, Forward: []int{1234}}, "port 1234 is to be forwarded and cannot be listened on"},
		"port in the log": {process.Spec{Name: "a", Path: "/proc/self/exe", Args: []string{taken}, Env: []string{childVariable + "=serve"}, Ready: never}, "before it was ready: not yet; hint: " + taken + " is taken by another process; the end of"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newGroup(t).Start(t.Context(), tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nexpected %s", err, tt.want)
			}
		})
	}
}
