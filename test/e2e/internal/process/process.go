package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	readyInterval = 50 * time.Millisecond
	readyAttempt  = 5 * time.Second // no single answer is waited for longer
)

// Process is a program that was started, and may be again.
type Process struct {
	group   *Group
	spec    Spec
	log     string
	restart sync.Mutex // one Restart at a time

	run *run // guarded by the group; of the last start
}

// Name is the specification's.
func (p *Process) Name() string { return p.spec.Name }

// Log is the path of the log.
func (p *Process) Log() string { return p.log }

// Pid is the process's number, or 0 when it has ended.
func (p *Process) Pid() int {
	r := p.current()
	if r.over() {
		return 0
	}
	return r.pid
}

// Exited is closed when the process has ended, for whatever reason. A restarted process has another
// one.
func (p *Process) Exited() <-chan struct{} { return p.current().exited }

// Kill ends the process by SIGKILL, as a crash would. It stays down.
func (p *Process) Kill() error { return p.named("kill", p.current().end(0)) }

// Stop ends the process by SIGTERM and, if it takes too long, by SIGKILL.
func (p *Process) Stop() error { return p.named("stop", p.current().end(p.spec.StopTimeout)) }

// Quit ends a Go program by SIGQUIT, upon which it writes what each of its goroutines waits for
// into its log.
func (p *Process) Quit() error {
	r := p.current()
	r.quit()
	if !r.within(p.spec.StopTimeout) {
		return p.named("quit", fmt.Errorf("pid %d: still there %s after SIGQUIT", r.pid, p.spec.StopTimeout))
	}
	return nil
}

// Restart starts the process anew, as Group.Start did, and ends it first if it still runs. What it
// was just starting may hold its ports for a moment longer: a process between fork and exec has all
// files of its parent, and dies when it is its turn.
func (p *Process) Restart(ctx context.Context) error {
	p.restart.Lock()
	defer p.restart.Unlock()
	if err := p.current().end(p.spec.StopTimeout); err != nil {
		return p.named("restart", err)
	}
	p.spec.awaitPorts(ctx)
	return p.named("restart", p.launch(ctx))
}

func (p *Process) named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, p.spec.Name, err)
}

func (p *Process) current() *run {
	p.group.mu.Lock()
	defer p.group.mu.Unlock()
	return p.run
}

// launch starts the process and waits until it is ready. What fails leaves nothing running.
func (p *Process) launch(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	r, err := p.group.enter(p, func() (*run, error) {
		if err := p.spec.checkPorts(ctx); err != nil {
			return nil, err
		}
		return start(p.spec, p.log, p.unasked)
	})
	if err != nil {
		return err
	}
	if err := p.await(ctx, r); err != nil {
		// The log as it is before the process is asked to end, which is not what it failed by.
		err = explain(err, p.log, r.log.tail())
		return errors.Join(err, r.end(p.spec.StopTimeout))
	}
	return nil
}

// unasked is called when a process that was ready has ended by itself.
func (p *Process) unasked(r *run) {
	if p.group.OnExit != nil {
		p.group.OnExit(p, explain(fmt.Errorf("%s: %s", p.spec.Name, r.how), p.log, r.log.tail()))
	}
}

// await returns nil once the process is ready.
func (p *Process) await(ctx context.Context, r *run) error {
	ctx, done := context.WithTimeoutCause(ctx, p.spec.ReadyTimeout, fmt.Errorf("not ready within %s", p.spec.ReadyTimeout))
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.group.stopping:
			cancel(errGroupStopped)
		case <-ctx.Done():
		}
	}()
	if err := r.join(ctx); err != nil { // an exit ends this by itself, and says why
		return err
	}

	running, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	go func() {
		select {
		case <-r.exited:
			select {
			case <-p.group.stopping: // which is why it ended
				ended(errGroupStopped)
			default:
				ended(fmt.Errorf("%s before it was ready", r.how))
			}
		case <-running.Done():
		}
	}()
	if err := p.ready(running, r); err != nil {
		return err
	}
	if !r.markReady() { // ended meanwhile: what answered was another
		return fmt.Errorf("%s as it became ready", r.how)
	}
	return nil
}

// ready asks until the process is ready.
func (p *Process) ready(ctx context.Context, r *run) error {
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, readyAttempt)
		err := p.ask(attempt, r)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(err, context.Canceled) {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

func (p *Process) ask(ctx context.Context, r *run) error {
	if text := p.spec.ReadyLog; text != "" && !r.log.has(text) {
		return fmt.Errorf("%q is not in its log", text)
	}
	if p.spec.Ready == nil {
		return nil
	}
	return p.spec.Ready(ctx)
}
