package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	insideVariable = "ARGOSY_E2E_PRIVATE_NETWORK"
	dialerVariable = "ARGOSY_E2E_PRIVATE_DIALER"
	controlFD      = 3 // the first of exec.Cmd's ExtraFiles
	dialerFD       = 4
	listening      = "listening"
	connected      = "connected"
	maxMessage     = 8 << 10
)

// inside is the order that a process in a private network is given.
type inside struct {
	Path   string   `json:"path"`
	Argv   []string `json:"argv"`
	Ports  []int    `json:"ports"`
	Dialer bool     `json:"dialer"`
	Root   string   `json:"root"`
	Parent int      `json:"parent"`
}

// initialised guards against a program that would start itself as itself, again and again.
var initialised atomic.Bool

// Init is what main and TestMain call before anything else: in a private network (Spec.Forward) it
// does not return, but becomes the command. Everywhere else it does nothing.
func Init() {
	initialised.Store(true)
	if _, ok := os.LookupEnv(dialerVariable); ok {
		dial()
		os.Exit(0) //nolint:forbidigo // as below
	}
	order, ok := os.LookupEnv(insideVariable)
	if !ok {
		return
	}
	// The parent-death signal is the thread's, and is kept by exec only if this thread calls it.
	runtime.LockOSThread()
	unix.CloseOnExec(controlFD)
	err := become(order)
	if unix.Sendmsg(controlFD, []byte(err.Error()), nil, nil, 0) != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(127) //nolint:forbidigo // it is main here, and must not go on as the program that called it
}

// become returns only with an error.
func become(text string) error {
	var order inside
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return fmt.Errorf("read %s: %w", insideVariable, err)
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bring up the loopback device: %w", err)
	}
	files, err := listenAll(order.Ports)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, file := range files {
			fds[i] = int(file.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	if err := unix.Sendmsg(controlFD, []byte(listening), rights, nil, 0); err != nil {
		return fmt.Errorf("hand over the listening sockets: %w", err)
	}
	runtime.KeepAlive(files)
	if order.Dialer {
		if err := startDialer(); err != nil {
			return fmt.Errorf("start what dials in the private network: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("ask for the parent-death signal: %w", err)
	}
	if unix.Getppid() != order.Parent {
		return errors.New("the parent is gone")
	}
	if order.Root != "" {
		if err := unix.Chroot(order.Root); err != nil {
			return fmt.Errorf("change the root folder to %s: %w", order.Root, err)
		}
		if err := os.Chdir("/"); err != nil {
			return err
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, insideVariable+"=") })
	return fmt.Errorf("exec %s: %w", order.Path, syscall.Exec(order.Path, order.Argv, env))
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// listenAll returns sockets that listen; exec closes them here.
func listenAll(ports []int) ([]*os.File, error) {
	var files []*os.File
	for _, port := range ports {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			return nil, err
		}
		file, err := l.File()
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// startDialer starts this program once more, as a child of what becomes the command.
func startDialer() error {
	unix.CloseOnExec(dialerFD)
	cmd := &exec.Cmd{
		Path: self, Args: []string{"private-dialer"}, Env: []string{dialerVariable + "="},
		ExtraFiles:  []*os.File{os.NewFile(dialerFD, "dialer")},
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	return cmd.Start()
}

// dial connects to the ports that the Group asks for, in this network, and hands the connections
// over. It ends with the Group's side of the socket.
func dial() {
	buf := make([]byte, maxMessage)
	for {
		size, err := unix.Read(controlFD, buf)
		if size <= 0 || err != nil {
			return
		}
		file, err := connect(string(buf[:size]))
		if err != nil {
			err = unix.Sendmsg(controlFD, []byte(err.Error()), nil, nil, 0)
		} else {
			err = unix.Sendmsg(controlFD, []byte(connected), unix.UnixRights(int(file.Fd())), nil, 0)
			_ = file.Close()
		}
		if err != nil {
			return
		}
	}
}

func connect(port string) (*os.File, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(context.Background(), "tcp4", "127.0.0.1:"+port)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("a %T came of it", conn)
	}
	return tcp.File()
}
