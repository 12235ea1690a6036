package sandbox

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"time"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// The limits of one rendering, in bytes and time.
const (
	maxMemory = 1 << 30
	maxMade   = 64 << 20
	maxTime   = time.Minute
)

// Charts renders charts in child processes. It may be used by several goroutines.
type Charts struct {
	command func() (*exec.Cmd, error)
	timeout time.Duration
	busy    chan struct{} // one for each rendering; its capacity bounds the children
	idle    chan *child
}

var _ source.Charts = (*Charts)(nil)

// New makes the renderer. command makes the command of a child, which calls Serve; the sandbox sets
// its environment and its files.
func New(command func() (*exec.Cmd, error)) *Charts {
	n := min(runtime.GOMAXPROCS(0), 4)
	return &Charts{command: command, timeout: maxTime, busy: make(chan struct{}, n), idle: make(chan *child, n)}
}

// Close ends the idle children. No chart may be rendered any more.
func (s *Charts) Close() {
	for len(s.idle) > 0 {
		(<-s.idle).end()
	}
}

// Template renders a chart in a child.
func (s *Charts) Template(chart source.Chart) ([]manifest.Manifest, error) {
	q := request{Chart: chart}
	q.Chart.Own = nil
	if chart.Archive != nil {
		data, err := chart.Archive.Open()
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", chart.Name, err)
		}
		q.Chart.Archive, q.Archive = &source.Archive{Digest: chart.Archive.Digest}, data
	}
	s.busy <- struct{}{}
	defer func() { <-s.busy }()
	c, err := s.child()
	if err != nil {
		return nil, fmt.Errorf("the process that renders charts cannot be started: %w", err)
	}
	late := time.AfterFunc(s.timeout, func() { _ = c.cmd.Process.Kill() })
	r, err := c.exchange(q)
	inTime := late.Stop()
	if err != nil || !inTime { // a late child is being killed although it has responded
		c.end()
		return nil, fmt.Errorf("chart %s: %w", chart.Name, c.ended(inTime, s.timeout))
	}
	defer func() { s.idle <- c }()
	switch {
	case r.Beyond != nil:
		return nil, source.NotFollowed{Text: r.Failure, Hint: *r.Beyond}
	case r.Failure != "":
		return nil, errors.New(r.Failure)
	}
	return c.manifests(r), nil
}

// child is a process that renders charts.
type child struct {
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         io.LimitedReader
	requests    *gob.Encoder
	responses   *json.Decoder
	definitions map[string]manifest.Manifest // by digest
}

// child returns an idle child, or starts one.
func (s *Charts) child() (*child, error) {
	select {
	case c := <-s.idle:
		return c, nil
	default:
	}
	cmd, err := s.command()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, definitions: map[string]manifest.Manifest{}}
	cmd.Env, cmd.Dir = []string{"TZ=UTC"}, "/"
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out.R, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	c.requests, c.responses = gob.NewEncoder(c.in), json.NewDecoder(&c.out)
	return c, cmd.Start()
}

// end ends the process.
func (c *child) end() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// exchange sends a chart and reads the response.
func (c *child) exchange(q request) (r response, err error) {
	c.out.N = maxMade
	if err := c.requests.Encode(q); err != nil {
		return r, err
	}
	err = c.responses.Decode(&r)
	return r, err
}

// ended says why a child is gone.
func (c *child) ended(inTime bool, timeout time.Duration) error {
	switch {
	case !inTime:
		return fmt.Errorf("rendering it takes more than %s, which is the limit", timeout)
	case c.out.N <= 0:
		return fmt.Errorf("it makes more than %d bytes, which is the limit", maxMade)
	}
	return fmt.Errorf("rendering it ends the process that renders (%s); its limits are %d bytes of memory and %s", c.cmd.ProcessState, maxMemory, timeout)
}

// manifests returns the objects of a response.
func (c *child) manifests(r response) []manifest.Manifest {
	out := make([]manifest.Manifest, 0, len(r.Manifests))
	for _, o := range r.Manifests {
		m, known := c.definitions[o.Definition]
		if !known {
			m = manifest.New(o.Template, o.Tree, o.Size)
		}
		if o.Definition != "" {
			c.definitions[o.Definition] = m
		}
		m.Template = o.Template
		out = append(out, m)
	}
	return out
}
