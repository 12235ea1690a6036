package process

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
)

var errGroupStopped = errors.New("the group of processes is stopped")

// Group is processes that end together. Its methods may be called concurrently.
type Group struct {
	// OnExit, if set (before the first Start), is called when a process that was ready ends without
	// having been asked to. The error names it, says how it ended and has the end of its log.
	OnExit func(p *Process, err error)

	dir      string
	stopping chan struct{}
	stop     sync.Mutex // one Stop at a time

	mu        sync.Mutex // guards the following, and every process's run
	stopped   bool
	processes []*Process // in order of their first start
}

// NewGroup returns an empty group whose logs are in dir, which is made when it is needed.
func NewGroup(dir string) *Group {
	return &Group{dir: dir, stopping: make(chan struct{})}
}

// Start runs s and returns when it is ready (rule 3).
func (g *Group) Start(ctx context.Context, s Spec) (*Process, error) {
	p, err := g.start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Name, err)
	}
	return p, nil
}

func (g *Group) start(ctx context.Context, s Spec) (*Process, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	s, err := s.complete()
	if err != nil {
		return nil, err
	}
	p := &Process{group: g, spec: s, log: filepath.Join(g.dir, s.Name+".log")}
	if err := p.launch(ctx); err != nil {
		g.forget(p)
		return nil, err
	}
	return p, nil
}

// Run runs s to its end, and returns an error unless that is with status 0. What Spec says of being
// ready is not looked at.
func (g *Group) Run(ctx context.Context, s Spec) error {
	if err := supported(); err != nil {
		return err
	}
	s, err := s.complete()
	if err != nil {
		return fmt.Errorf("run %s: %w", s.Name, err)
	}
	p := &Process{group: g, spec: s, log: filepath.Join(g.dir, s.Name+".log")}
	defer g.forget(p)
	r, err := g.enter(p, func() (*run, error) { return start(s, p.log, p.unasked) })
	if err != nil {
		return fmt.Errorf("run %s: %w", s.Name, err)
	}
	if err := r.join(ctx); err != nil {
		return fmt.Errorf("run %s: %w", s.Name, errors.Join(explain(err, p.log, r.log.tail()), r.end(0)))
	}
	select {
	case <-r.exited:
	case <-ctx.Done():
		return fmt.Errorf("run %s: %w", s.Name, errors.Join(context.Cause(ctx), r.end(0)))
	}
	if r.how != succeeded {
		return fmt.Errorf("run %s: %w", s.Name, explain(errors.New(r.how), p.log, r.log.tail()))
	}
	return nil
}

// enter takes p into the group and calls run, unless the group is stopped meanwhile or before.
func (g *Group) enter(p *Process, begin func() (*run, error)) (*run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return nil, errGroupStopped
	}
	for _, other := range g.processes {
		if other.spec.Name == p.spec.Name && other.run != nil && !other.run.over() {
			return nil, fmt.Errorf("a process of that name runs already (pid %d)", other.run.pid)
		}
	}
	r, err := begin()
	if err != nil {
		return nil, err
	}
	p.run = r
	if !slices.Contains(g.processes, p) {
		g.processes = append(g.processes, p)
	}
	return r, nil
}

func (g *Group) forget(p *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes = slices.DeleteFunc(g.processes, func(other *Process) bool { return other == p })
}

// Stop ends all processes, the last one started first, and lets no more be started. It may be
// called again.
func (g *Group) Stop() error {
	g.mu.Lock()
	if !g.stopped {
		g.stopped = true
		close(g.stopping)
	}
	processes := slices.Clone(g.processes)
	g.mu.Unlock()

	g.stop.Lock()
	defer g.stop.Unlock()
	var all []error
	for _, p := range slices.Backward(processes) {
		all = append(all, p.Stop())
	}
	return errors.Join(all...)
}
