package sandbox

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// The limits of one rendering, in bytes and time, and how many charts may exceed them.
const (
	maxMemory = 1 << 30
	maxMade   = 64 << 20
	maxTime   = time.Minute
	maxEnded  = 10
)

// Charts renders charts in child processes. It may be used by several goroutines.
type Charts struct {
	command func() (*exec.Cmd, error)
	timeout time.Duration
	slots   chan struct{}

	mu     sync.Mutex
	idle   []*child
	ended  int
	closed bool
}

var _ source.Charts = (*Charts)(nil)

// New makes the renderer. command makes the command of a child, which calls Serve; the sandbox sets
// its environment and its files.
func New(command func() (*exec.Cmd, error)) *Charts {
	return &Charts{command: command, timeout: maxTime, slots: make(chan struct{}, min(runtime.GOMAXPROCS(0), 4))}
}

// Close ends the children.
func (s *Charts) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		c.end()
	}
	s.idle, s.closed = nil, true
}

// Template renders a chart in a child.
func (s *Charts) Template(chart source.Chart) ([]manifest.Manifest, error) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	c, err := s.take()
	if err != nil {
		return nil, err
	}
	out, err := c.template(chart, s.timeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	var over *endedError
	if errors.As(err, &over) {
		s.ended++
		return nil, fmt.Errorf("chart %s: %w", chart.Name, err)
	}
	if s.closed {
		c.end()
	} else {
		s.idle = append(s.idle, c)
	}
	return out, err
}

// take returns an idle child, or a new one.
func (s *Charts) take() (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended >= maxEnded {
		return nil, fmt.Errorf("%d charts have passed the limits of rendering: no further one is rendered", s.ended)
	}
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return c, nil
	}
	return s.start()
}

// child is a process that renders charts.
type child struct {
	cmd      *exec.Cmd
	requests *gob.Encoder
	in       io.WriteCloser
	out      io.Reader
	messages *messages
	held     map[string]bool // request.Key of charts that it has
	shared   map[string]manifest.Manifest
}

func (s *Charts) start() (*child, error) {
	unstarted := func(err error) (*child, error) {
		return nil, fmt.Errorf("the process that renders charts cannot be started: %w", err)
	}
	cmd, err := s.command()
	if err != nil {
		return unstarted(err)
	}
	c := &child{cmd: cmd, messages: &messages{}, held: map[string]bool{}, shared: map[string]manifest.Manifest{}}
	cmd.Env, cmd.Dir, cmd.Stderr = []string{"TZ=UTC"}, "/", c.messages
	if c.in, err = cmd.StdinPipe(); err != nil {
		return unstarted(err)
	}
	if c.out, err = cmd.StdoutPipe(); err != nil {
		return unstarted(err)
	}
	if err := cmd.Start(); err != nil {
		return unstarted(err)
	}
	c.requests = gob.NewEncoder(c.in)
	return c, nil
}

// end ends the process.
func (c *child) end() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// endedError says why a child had to end, or ended by itself.
type endedError struct{ text string }

func (e *endedError) Error() string { return e.text }

// template renders a chart. With an endedError, the child is gone.
func (c *child) template(chart source.Chart, timeout time.Duration) ([]manifest.Manifest, error) {
	late := time.AfterFunc(timeout, func() { _ = c.cmd.Process.Kill() })
	r, err := c.respond(chart)
	inTime := late.Stop()
	switch {
	case err != nil, !inTime: // a late child is being killed although it has responded
		c.end()
		return nil, c.ended(err, !inTime, timeout)
	case r.Beyond != nil:
		return nil, source.NotFollowed{Text: r.Failure, Hint: *r.Beyond}
	case r.Failure != "":
		return nil, errors.New(r.Failure)
	}
	return r.manifests(c.shared)
}

// respond sends a chart and reads the response.
func (c *child) respond(chart source.Chart) (response, error) {
	q := request{Chart: chart, Key: keyOf(chart)}
	q.Chart.Files, q.Chart.Archive, q.Chart.Own = nil, nil, nil
	if c.held[q.Key] {
		r, err := c.exchange(q)
		if err != nil || !r.Unknown {
			return r, err
		}
	}
	for _, f := range chart.Files {
		q.Files = append(q.Files, chartFile{f.Path, f.Digest, f.Data})
	}
	if chart.Archive != nil {
		data, err := chart.Archive.Open()
		if err != nil {
			return response{Failure: fmt.Sprintf("chart %s: %v", chart.Name, err)}, nil
		}
		q.Archive = data
	}
	q.Whole, c.held[q.Key] = true, true
	return c.exchange(q)
}

func (c *child) exchange(q request) (response, error) {
	if err := c.requests.Encode(q); err != nil {
		return response{}, err
	}
	return read(c.out)
}

// ended says why a child is gone.
func (c *child) ended(err error, late bool, timeout time.Duration) error {
	switch {
	case errors.Is(err, errTooMuch):
		return &endedError{err.Error()}
	case late:
		return &endedError{fmt.Sprintf("rendering it takes more than %s, which is the limit", timeout)}
	case c.messages.outOfMemory():
		return &endedError{fmt.Sprintf("rendering it takes more than %d bytes of memory, which is the limit", maxMemory)}
	}
	return &endedError{fmt.Sprintf("rendering it ends the process that renders (%s); its limits are %d bytes of memory and %s", c.cmd.ProcessState, maxMemory, timeout)}
}

// keyOf returns the same key for charts with the same files.
func keyOf(c source.Chart) string {
	if c.Archive != nil {
		return c.Archive.Digest
	}
	parts := make([]any, 0, 2*len(c.Files))
	for _, f := range c.Files {
		parts = append(parts, f.Path, f.Digest)
	}
	return manifest.Digest(parts...)
}

// messages keeps the beginning of a child's messages.
type messages struct {
	mu   sync.Mutex
	text []byte
}

func (t *messages) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), 4096-len(t.text))]...)
	return len(p), nil
}

// outOfMemory reports whether the child's messages say that it ran out of memory. Go's runtime has
// several such messages, and sometimes ends with another one; ended then names the limit, too.
func (t *messages) outOfMemory() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "goroutine stack exceeds", "pthread_create failed", "newosproc"}, func(s string) bool {
		return strings.Contains(string(t.text), s)
	})
}
