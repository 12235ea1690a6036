package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func supported() error { return nil }

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// untilExited returns when the child has ended and leaves it to be waited for.
func untilExited(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}
