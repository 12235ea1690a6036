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
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const childVariable = "PROCESS_TEST_CHILD"

// TestMain is also the programs that the tests start.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "forgetful" {
		process.Init()
	}
	if name := os.Getenv(childVariable); name != "" {
		children := map[string]func(args []string) error{
			"serve": serve, "stubborn": stubborn, "fail": fail, "parent": parent, "holder": holder, "inside": inside, "rooted": rooted, "confined": confined, "forgetful": refused,
		}
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Println("child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, name string, args ...string) process.Spec {
	t.Helper()
	return childSpec(name, args...)
}

func childSpec(name string, args ...string) process.Spec {
	return process.Spec{Name: name, Path: "/proc/self/exe", Args: args, Env: []string{childVariable + "=" + name}}
}

// serve [ADDRESS [FILE]] answers HTTP until SIGTERM, which it notes in FILE.
func serve(args []string) error {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println("serving, pid", os.Getpid())
	http.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) {
		fmt.Println("asked to exit")
		os.Exit(7)
	})
	http.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, strings.Join(os.Environ(), "\n"))
	})
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "hello from %d", os.Getpid()) })
	go answer(l, http.DefaultServeMux)
	<-term
	fmt.Println("ending in order")
	if len(args) > 1 {
		f, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, args[0])
		return err
	}
	return nil
}

// stubborn does not end by SIGTERM.
func stubborn([]string) error {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("stubborn, pid", os.Getpid())
	<-time.After(time.Hour) // longer than any test: for Go a program that waits for nothing is a deadlock
	return nil
}

func fail([]string) error {
	for i := range 40 {
		fmt.Println("line", i+1)
	}
	os.Exit(3)
	return nil
}

// parent ADDRESS starts a serving child that it does not care for.
func parent(args []string) error {
	cmd := exec.Command("/proc/self/exe", args[0])
	cmd.Env = []string{childVariable + "=serve"}
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	<-time.After(time.Hour) // longer than any test: for Go a program that waits for nothing is a deadlock
	return nil
}

// holder DIR PORT SERVER holds a group with a serving and a privately serving process and tells
// their pids.
func holder(args []string) error {
	g := process.NewGroup(args[0])
	address := "127.0.0.1:" + args[1]
	s := childSpec("serve", address)
	s.Ready = process.WaitHTTP("http://"+address, nil)
	outer, err := g.Start(context.Background(), s)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	private := childSpec("stubborn")
	private.Forward = []int{port}
	inner, err := g.Start(context.Background(), private)
	if err != nil {
		return err
	}
	fmt.Println(outer.Pid(), inner.Pid())
	select {}
}

// inside OWN FORWARDED DOWN serves on all addresses, tells a server behind FORWARDED what it sees,
// and echoes lines until the end of the stream, and one more after it.
func inside(args []string) error {
	l, err := net.Listen("tcp", "0.0.0.0:"+args[0])
	if err != nil {
		return err
	}
	go answer(l, http.NotFoundHandler())
	conn, err := net.Dial("tcp", "127.0.0.1:"+args[1])
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := process.WaitTCP("127.0.0.1:" + args[0])(context.Background()); err != nil {
		return err
	}
	fmt.Fprintln(conn, "my own port answers me")
	down, err := net.Dial("tcp", "127.0.0.1:"+args[2])
	if err == nil {
		_, err = down.Read(make([]byte, 1))
	}
	fmt.Fprintln(conn, "the other:", err != nil && !errors.Is(err, io.EOF))
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		fmt.Fprintln(conn, "echo", lines.Text())
	}
	fmt.Fprintln(conn, "the end:", lines.Err())
	return nil
}

// rooted OWN REACHED serves on all addresses what it sees of its root folder, and behind REACHED.
func rooted(args []string) error {
	l, err := net.Listen("tcp", "0.0.0.0:"+args[0])
	if err != nil {
		return err
	}
	answer(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		marker, err := os.ReadFile("/marker")
		entries, listErr := os.ReadDir("/")
		response, getErr := http.Get("http://127.0.0.1:" + args[1])
		if err := errors.Join(err, listErr, getErr); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer response.Body.Close()
		reached, _ := io.ReadAll(response.Body)
		names := []string{}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		fmt.Fprintf(w, "%s; reached %s; / has %s", marker, reached, strings.Join(names, ", "))
	}))
	return nil
}

// refused DIR tells how the start of a private network fails.
func refused(args []string) error {
	s := childSpec("stubborn")
	s.Forward = []int{}
	_, err := process.NewGroup(args[0]).Start(context.Background(), s)
	fmt.Println(err)
	return nil
}

// confined DIR is where no network namespace can be made.
func confined(args []string) error {
	if err := os.WriteFile("/proc/sys/user/max_net_namespaces", []byte("0"), 0); err != nil {
		return err
	}
	return refused(args)
}

func answer(l net.Listener, h http.Handler) {
	server := http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	_ = server.Serve(l)
}

// eventually asks until done says yes.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("not within 20s: %s", what)
		case <-tick.C:
		}
	}
}

// gone reports whether no process of that number runs; one that nobody waits for may still be
// listed.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}
