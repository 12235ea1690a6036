package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// succeeded is how what runs to its end has to end.
const succeeded = "exited with status 0"

// afterKill is how long the kernel may take to end what was killed.
const afterKill = 10 * time.Second

// run is a process from one start to its end.
type run struct {
	cmd     *exec.Cmd
	pid     int // also its process group
	log     *logFile
	network *network // nil without a private one
	unasked func(*run)

	exited chan struct{}
	how    string // how it ended; to be read once exited is closed

	mu     sync.Mutex // guards the following
	asked  bool       // to end
	ready  bool
	reaped bool // its pid may be another's
}

// spawner is a goroutine that keeps a thread for as long as this program lives. A child is sent its
// parent-death signal when the thread ends that started it (PR_SET_PDEATHSIG in prctl(2)), and Go
// ends threads as it sees fit.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func spawn(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	spawner() <- func() { result <- cmd.Start() }
	return <-result
}

// start runs the specification; unasked is called if it ends, once ready, without having been asked
// to.
func start(s Spec, logPath string, unasked func(*run)) (*run, error) {
	log, err := openLog(logPath)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	if err := log.begin("start %s %s", s.Path, strings.Join(s.Args, " ")); err != nil {
		log.file.Close()
		return nil, fmt.Errorf("open the log: %w", err)
	}
	r := &run{log: log, unasked: unasked, exited: make(chan struct{})}
	if s.Forward != nil {
		r.cmd, r.network, err = startPrivate(s, log.file)
	} else {
		r.cmd = command(s, log.file)
		err = spawn(r.cmd)
	}
	if err != nil {
		log.note("not started: %s", err)
		log.file.Close()
		return nil, err
	}
	r.pid = r.cmd.Process.Pid
	go r.wait()
	return r, nil
}

func command(s Spec, output *os.File) *exec.Cmd {
	return &exec.Cmd{
		Path:        s.Path,
		Args:        append([]string{s.Argv0}, s.Args...),
		Env:         s.Env,
		Dir:         s.Dir,
		Stdout:      output, // a file: the process writes by itself, nothing is lost at its end
		Stderr:      output,
		SysProcAttr: attributes(),
	}
}

// join waits until a private network is in place and the command runs in it.
func (r *run) join(ctx context.Context) error {
	if r.network == nil {
		return nil
	}
	return r.network.join(ctx)
}

func (r *run) wait() {
	// While it is not waited for, its pid, which is also its process group's, cannot be given to
	// others.
	untilExited(r.pid)
	r.mu.Lock()
	_ = syscall.Kill(-r.pid, syscall.SIGKILL)
	err := r.cmd.Wait()
	r.reaped = true
	r.how = outcome(r.cmd.ProcessState, err)
	tell := r.ready && !r.asked
	r.mu.Unlock()

	if r.network != nil {
		r.network.close()
	}
	r.log.note("%s", r.how)
	r.log.file.Close()
	close(r.exited)
	if tell {
		r.unasked(r)
	}
}

func outcome(state *os.ProcessState, err error) string {
	if state == nil {
		return fmt.Sprintf("ended: %s", err)
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return fmt.Sprintf("was ended by signal %d (%s)", status.Signal(), status.Signal())
	case ok && status.Exited():
		return fmt.Sprintf("exited with status %d", status.ExitStatus())
	}
	return "ended: " + state.String()
}

func (r *run) over() bool {
	select {
	case <-r.exited:
		return true
	default:
		return false
	}
}

// markReady reports whether the process still runs.
func (r *run) markReady() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = !r.reaped
	return r.ready
}

// end sends SIGTERM to the process, if it is given any time, and then SIGKILL to its group. It
// returns once the process has ended.
func (r *run) end(grace time.Duration) error {
	if grace > 0 {
		r.terminate()
		if r.within(grace) {
			return nil
		}
		r.log.note("still running %s after SIGTERM", grace)
	}
	if err := r.kill(); err != nil {
		return err
	}
	if !r.within(afterKill) {
		return fmt.Errorf("pid %d: still there %s after SIGKILL", r.pid, afterKill)
	}
	return nil
}

// terminate sends SIGTERM, once: Kubernetes' components take a second one for an order to leave at
// once. Only the leader is sent it, and ends its own children as it should.
func (r *run) terminate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped && !r.asked {
		_ = syscall.Kill(r.pid, syscall.SIGTERM)
	}
	r.asked = true
}

// quit sends SIGQUIT.
func (r *run) quit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped {
		_ = syscall.Kill(r.pid, syscall.SIGQUIT)
	}
	r.asked = true
}

func (r *run) kill() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = true
	if r.reaped {
		return nil
	}
	if err := syscall.Kill(-r.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send SIGKILL to process group %d: %w", r.pid, err)
	}
	return nil
}

func (r *run) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.exited:
		return true
	case <-timer.C:
		return false
	}
}
