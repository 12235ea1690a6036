//go:build bench

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// memoryLimit is a cgroup whose processes together may have so much memory: beyond it the kernel
// kills one of them, as in a pod. This takes root, and a controller that is mounted for writing.
type memoryLimit struct{ dir, failures string }

// limitMemory makes a cgroup. The error says why there is none.
func (b *bench) limitMemory(mib int) (*memoryLimit, error) {
	var failed error
	for _, is := range []struct{ root, limit, failures string }{
		{"/sys/fs/cgroup", "memory.max", "memory.events"},
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"},
	} {
		l := &memoryLimit{filepath.Join(is.root, fmt.Sprintf("argosy-bench-%d", os.Getpid())), is.failures}
		if _, err := os.Stat(filepath.Join(is.root, "cgroup.procs")); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if err := os.Mkdir(l.dir, 0o755); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		b.Cleanup(func() { _ = os.Remove(l.dir) })
		if err := os.WriteFile(filepath.Join(l.dir, is.limit), fmt.Appendf(nil, "%d", mib<<20), 0o600); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		return l, nil
	}
	return nil, failed
}

// command is a command line whose process is in the cgroup from its beginning.
func (l *memoryLimit) command(program string, args ...string) []string {
	return append([]string{"sh", "-c", fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec "$0" "$@"`, l.dir), program}, args...)
}

// killed is how many processes the kernel has killed for their memory.
func (l *memoryLimit) killed() (n int) {
	text, _ := os.ReadFile(filepath.Join(l.dir, l.failures))
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "oom_kill %d", &n)
	}
	return n
}
