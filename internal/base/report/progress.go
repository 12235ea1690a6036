package report

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows the progress of a long command in one line of a terminal.
type Progress struct {
	w    io.Writer
	stop chan struct{}
	once sync.Once
	over sync.WaitGroup

	mu      sync.Mutex
	text    string
	isShown bool
}

// patience is how long a command runs before it shows progress, and step the update interval.
const (
	patience = 2 * time.Second
	step     = 200 * time.Millisecond
)

// NewProgress starts showing progress. Without a terminal (nil) it shows nothing.
func NewProgress(terminal io.Writer) *Progress {
	p := &Progress{w: terminal, stop: make(chan struct{})}
	if terminal != nil {
		p.over.Go(p.run)
	}
	return p
}

// run shows the text until Done is called.
func (p *Progress) run() {
	begun, tick := time.Now(), time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			p.Clear()
			return
		case <-tick.C:
			if took := time.Since(begun); took > patience {
				p.mu.Lock()
				p.isShown = true
				fmt.Fprintf(p.w, "\r\x1b[K%s (%ds)", Printable(p.text), int(took.Seconds()))
				p.mu.Unlock()
			}
		}
	}
}

// Clear removes the progress line, so that the command can write a line of its own in its place.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isShown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.isShown = false
}

// Say sets the text of the progress line.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = fmt.Sprintf(format, args...)
}

// Done removes the progress line. It may be called again.
func (p *Progress) Done() {
	p.once.Do(func() { close(p.stop) })
	p.over.Wait()
}
