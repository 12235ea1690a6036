package process

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Ports below the range that the kernel takes from for outgoing connections: in that range a
// connection may have taken the port before its server listens, or while it is restarted; one that
// dials it meanwhile may even reach itself.
const (
	lowestPort      = 10000
	defaultRange    = 32768 // where the kernel's begins, if it does not say
	enoughPorts     = 1000
	portAttempts    = 500
	kernelPortRange = "/proc/sys/net/ipv4/ip_local_port_range"
)

// reserved holds the ports that FreePort gave. The reservation is a name that others, in this
// network namespace, cannot have while this program lives.
var reserved struct {
	sync.Mutex
	ports map[int]net.Listener
}

// FreePort returns a port of 127.0.0.1 that nothing listens on (rule 7).
func FreePort() (int, error) {
	below := kernelPorts()
	if below-lowestPort < enoughPorts {
		return 0, fmt.Errorf("find a free port: outgoing connections are given ports from %d on; expected them to leave %d to %d to servers; hint: %s",
			below, lowestPort, lowestPort+enoughPorts, kernelPortRange)
	}
	reserved.Lock()
	defer reserved.Unlock()
	var last error
	for range portAttempts {
		port := lowestPort + rand.IntN(below-lowestPort)
		if reserved.ports[port] != nil {
			continue
		}
		mark, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", "@argosy-e2e/port/"+strconv.Itoa(port))
		if err != nil {
			last = err
			continue
		}
		if err := canListen(context.Background(), port); err != nil {
			_ = mark.Close()
			last = err
			continue
		}
		if reserved.ports == nil {
			reserved.ports = map[int]net.Listener{}
		}
		reserved.ports[port] = mark
		return port, nil
	}
	if last == nil {
		last = errors.New("all were given already")
	}
	return 0, fmt.Errorf("find a free port: %d tried from %d to %d: %w", portAttempts, lowestPort, below-1, last)
}

// kernelPorts is where the range of ports begins that outgoing connections are given.
func kernelPorts() int {
	text, err := os.ReadFile(kernelPortRange)
	if err != nil {
		return defaultRange
	}
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return defaultRange
	}
	low, err := strconv.Atoi(fields[0])
	if err != nil {
		return defaultRange
	}
	return low
}

// canListen on a port, without a program of ours being started meanwhile: between fork and exec it
// would have this socket as well, and hold the port after it was closed here.
func canListen(ctx context.Context, port int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}
