package sandbox

import (
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// restrict bounds this process for good: its memory, its files and its privileges.
func restrict() error {
	// Go's poller opens its own descriptors with the first pipe; later it could open none.
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	_, _ = r.Close(), w.Close()
	// Go's collector stays below the kernel's limit as long as it can.
	debug.SetMemoryLimit(maxMemory / 4 * 3)
	debug.SetMaxStack(maxMemory / 8)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	for resource, limit := range map[int]uint64{unix.RLIMIT_DATA: maxMemory, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: 0} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}

// beginRendering limits the processor time of one rendering, so that this process ends even if its
// parent has not lived to end it.
func beginRendering() error {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &limit); err != nil {
		return err
	}
	limit.Cur = min(limit.Max, uint64(used.Utime.Sec+used.Stime.Sec)+8*uint64(maxTime.Seconds())) //nolint:gosec // times are no less than zero
	return unix.Setrlimit(unix.RLIMIT_CPU, &limit)
}
