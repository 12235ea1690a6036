package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/report"
)

// progress shows on a terminal what a long command does, in one line.
type progress struct {
	w    io.Writer // nil: it is no terminal
	stop chan struct{}
	over sync.WaitGroup

	mu   sync.Mutex
	text string
}

// patience is how long a command runs before it shows progress, and step how often it does.
const (
	patience = 2 * time.Second
	step     = 200 * time.Millisecond
)

func newProgress(w io.Writer) *progress {
	p := &progress{stop: make(chan struct{})}
	if isTerminal(w) && os.Getenv("TERM") != "dumb" {
		p.w = unwrapped(w)
		p.over.Go(p.run)
	}
	return p
}

// run shows the text until done.
func (p *progress) run() {
	begun, tick := time.Now(), time.NewTicker(step)
	defer tick.Stop()
	for isShown := false; ; {
		select {
		case <-p.stop:
			if isShown {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		case <-tick.C:
			if took := time.Since(begun); took > patience {
				p.mu.Lock()
				text := p.text
				p.mu.Unlock()
				isShown = true
				fmt.Fprintf(p.w, "\r\x1b[K%s (%ds)", report.Printable(text), int(took.Seconds()))
			}
		}
	}
}

// say sets what is shown.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = fmt.Sprintf(format, args...)
}

// show shows how many objects of a hub have been compared.
func (p *progress) show(hub string, objects int) { p.say("%s: %d objects", hub, objects) }

// done removes what is shown.
func (p *progress) done() {
	close(p.stop)
	p.over.Wait()
}
