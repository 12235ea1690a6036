package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/argosy-hub/argosy/internal/report"
)

// progress shows on a terminal how far a long command is.
type progress struct {
	w     io.Writer // nil: it is no terminal
	begun time.Time
	last  time.Time
}

// patience is how long a command runs before it shows progress, and step how often it does.
const (
	patience = 2 * time.Second
	step     = 200 * time.Millisecond
)

func newProgress(w io.Writer) *progress {
	p := &progress{begun: time.Now()}
	if isTerminal(w) && os.Getenv("TERM") != "dumb" {
		p.w = unwrapped(w)
	}
	return p
}

// show shows how many objects of a hub have been compared.
func (p *progress) show(hub string, objects int) {
	if now := time.Now(); p.w != nil && now.Sub(p.begun) > patience && now.Sub(p.last) > step {
		p.last = now
		fmt.Fprintf(p.w, "\r\x1b[K%s: %d objects", report.Printable(hub), objects)
	}
}

// done removes what is shown.
func (p *progress) done() {
	if p.w != nil && !p.last.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
