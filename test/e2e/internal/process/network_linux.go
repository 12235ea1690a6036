package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// self is this program, even if its file has been replaced or removed since.
const self = "/proc/self/exe"

// network is a private one, seen from outside.
type network struct {
	targets []int         // outside, by the listening sockets' order
	publish map[int]int   // outside to inside
	control *net.UnixConn // from Init
	dialer  *net.UnixConn // what connects inside; nil where nothing is published
	dialing sync.Mutex    // one request at a time

	mu      sync.Mutex
	closed  bool
	forward *forwarder
}

// startPrivate starts this program in a new network namespace, where Init becomes the command.
func startPrivate(s Spec, output *os.File) (*exec.Cmd, *network, error) {
	if !initialised.Load() {
		return nil, nil, errors.New("this program cannot make a private network; hint: call process.Init first in its main or TestMain")
	}
	var last error
	for _, attr := range privateAttributes() {
		cmd, n, err := startInside(s, output, attr)
		if err == nil {
			return cmd, n, nil
		}
		if !denied(err) {
			return nil, nil, err
		}
		last = err
	}
	return nil, nil, noNamespace(last)
}

// privateAttributes are the ways to make a network namespace. Without privilege it takes a user
// namespace as well, where this user is root.
func privateAttributes() []*syscall.SysProcAttr {
	plain, user := attributes(), attributes()
	plain.Cloneflags = unix.CLONE_NEWNET
	user.Cloneflags = unix.CLONE_NEWNET | unix.CLONE_NEWUSER
	user.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	user.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	if os.Geteuid() != 0 {
		return []*syscall.SysProcAttr{user}
	}
	return []*syscall.SysProcAttr{plain, user} // root in a container need not be privileged
}

func startInside(s Spec, output *os.File, attr *syscall.SysProcAttr) (*exec.Cmd, *network, error) {
	ports, targets := slices.Clone(s.Forward), slices.Clone(s.Forward)
	for _, port := range slices.Sorted(maps.Keys(s.Reach)) {
		ports, targets = append(ports, port), append(targets, s.Reach[port])
	}
	order, err := json.Marshal(inside{
		Path: s.Path, Argv: append([]string{s.Argv0}, s.Args...), Ports: ports, Dialer: len(s.Publish) > 0, Root: s.Root, Parent: os.Getpid(),
	})
	if err != nil {
		return nil, nil, err
	}
	n := &network{targets: targets, publish: s.Publish}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	defer theirs.Close()
	files := []*os.File{theirs}
	n.control = ours
	if len(s.Publish) > 0 {
		dialer, end, err := socketPair()
		if err != nil {
			_ = ours.Close()
			return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
		}
		defer end.Close()
		n.dialer, files = dialer, append(files, end)
	}
	cmd := command(s, output)
	cmd.Path = self
	cmd.Args = []string{"private-network", s.Name}
	cmd.Env = append([]string{insideVariable + "=" + string(order)}, s.Env...)
	cmd.ExtraFiles = files
	cmd.SysProcAttr = attr
	if err := spawn(cmd); err != nil {
		_ = ours.Close()
		n.close()
		return nil, nil, err
	}
	return cmd, n, nil
}

func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(fds[0]), "outside")
	theirs = os.NewFile(uintptr(fds[1]), "inside")
	defer file.Close() // FileConn has its own
	conn, err := net.FileConn(file)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	ours, ok := conn.(*net.UnixConn)
	if !ok {
		theirs.Close()
		conn.Close()
		return nil, nil, fmt.Errorf("a %T came of it", conn)
	}
	return ours, theirs, nil
}

// join takes over the listening sockets and returns once the command runs.
func (n *network) join(ctx context.Context) error {
	defer func() { _ = n.control.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = n.control.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	listeners, err := n.receive()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("set up the private network: %w", err)
	}
	if err := n.serve(ctx, listeners); err != nil {
		return err
	}
	// Exec closes the other end, after which nothing is read; otherwise this is why it failed.
	buf := make([]byte, maxMessage)
	if size, _ := n.control.Read(buf); size > 0 {
		return errors.New(string(buf[:size]))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// receive reads Init's message, which has a listening socket for every port.
func (n *network) receive() ([]net.Listener, error) {
	buf := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(4*maxForward))
	size, oobSize, _, _, err := n.control.ReadMsgUnix(buf, oob)
	if size == 0 && (err == nil || errors.Is(err, io.EOF)) {
		return nil, errors.New("the process has ended")
	}
	if err != nil {
		return nil, err
	}
	if text := string(buf[:size]); text != listening {
		if strings.Contains(text, unix.EPERM.Error()) || strings.Contains(text, unix.EACCES.Error()) {
			return nil, noNamespace(errors.New(text))
		}
		return nil, errors.New(text)
	}
	if len(n.targets) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobSize])
	if err != nil {
		return nil, err
	}
	var listeners []net.Listener
	for _, message := range messages {
		fds, err := unix.ParseUnixRights(&message)
		if err != nil {
			continue // another kind of message
		}
		for _, fd := range fds {
			file := os.NewFile(uintptr(fd), "listener")
			l, listenErr := net.FileListener(file)
			file.Close() // the listener has its own
			if listenErr != nil {
				err = errors.Join(err, listenErr)
				continue
			}
			listeners = append(listeners, l)
		}
		if err != nil {
			closeAll(listeners)
			return nil, err
		}
	}
	if len(listeners) != len(n.targets) {
		closeAll(listeners)
		return nil, fmt.Errorf("%d listening sockets came, expected %d", len(listeners), len(n.targets))
	}
	return listeners, nil
}

// serve forwards connections until close, and publishes ports.
func (n *network) serve(ctx context.Context, listeners []net.Listener) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		closeAll(listeners)
		return nil
	}
	n.forward = newForwarder()
	for i, l := range listeners {
		n.forward.serve(l, outside(n.targets[i]))
	}
	for port, to := range n.publish {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return fmt.Errorf("publish port %d: %w", port, err)
		}
		n.forward.serve(l, func(context.Context) (net.Conn, error) { return n.dial(to) })
	}
	return nil
}

// dial connects to a port inside.
func (n *network) dial(port int) (net.Conn, error) {
	n.dialing.Lock()
	defer n.dialing.Unlock()
	if _, err := n.dialer.Write([]byte(strconv.Itoa(port))); err != nil {
		return nil, err
	}
	buf, oob := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	size, oobSize, _, _, err := n.dialer.ReadMsgUnix(buf, oob)
	if err != nil {
		return nil, err
	}
	if text := string(buf[:size]); text != connected {
		return nil, fmt.Errorf("port %d of the private network: %s", port, text)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobSize])
	if err != nil {
		return nil, err
	}
	for _, message := range messages {
		fds, err := unix.ParseUnixRights(&message)
		if err != nil || len(fds) != 1 {
			continue
		}
		file := os.NewFile(uintptr(fds[0]), "connection")
		conn, err := net.FileConn(file)
		return conn, errors.Join(err, file.Close()) // the connection has its own
	}
	return nil, fmt.Errorf("port %d of the private network: no connection came", port)
}

// close is called when the process has ended.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	if n.forward != nil {
		n.forward.close()
	}
	if n.dialer != nil {
		_ = n.dialer.Close()
	}
}

// denied reports whether the kernel does not let us make the namespaces.
func denied(err error) bool {
	for _, no := range []error{unix.EPERM, unix.EACCES, unix.EINVAL, unix.ENOSPC, unix.EUSERS} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

func noNamespace(err error) error {
	return fmt.Errorf("make a private network namespace: %w; hint: it takes root (CAP_SYS_ADMIN; for a container --cap-add SYS_ADMIN), "+
		"or user namespaces for everybody: sysctl user.max_user_namespaces and user.max_net_namespaces above 0, and, where they exist, "+
		"kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0", err)
}
