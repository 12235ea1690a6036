package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/source"
)

// givenLayout is a source whose snapshots have the file of --layout instead of their own layout.
// Their revisions also name the layout, so that state of another layout is not used for them.
type givenLayout struct {
	source.Source
	file *snapshot.File

	mu       sync.Mutex
	from, to *snapshot.Snapshot // the last snapshot, before and after
}

// readLayout reads the file of --layout; nil without one.
func readLayout(name string) (*snapshot.File, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--layout: %w", err)
	}
	return snapshot.NewFile(fleet.LayoutFile, data, snapshot.MaxFileSize), nil
}

// withLayout puts a layout into a source's snapshots; it returns the source if layout is nil.
func withLayout(s source.Source, layout *snapshot.File) source.Source {
	if layout == nil {
		return s
	}
	return &givenLayout{Source: s, file: layout}
}

// Snapshot implements source.Source.
func (g *givenLayout) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	s, err := g.Source.Snapshot(ctx)
	return g.with(s), err
}

// Watch implements source.Source.
func (g *givenLayout) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	g.Source.Watch(ctx, func(s *snapshot.Snapshot, err error) { update(g.with(s), err) })
}

// Polled returns when the source was last polled without an error; zero if it never was, or if that
// is unknown.
func (g *givenLayout) Polled() time.Time {
	if s, is := g.Source.(interface{ Polled() time.Time }); is {
		return s.Polled()
	}
	return time.Time{}
}

// with returns a snapshot with the layout, and the same result for the same snapshot.
func (g *givenLayout) with(s *snapshot.Snapshot) *snapshot.Snapshot {
	if s == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s != g.from {
		to := s.With(map[string]*snapshot.File{fleet.LayoutFile: g.file}).WithCommit(s.Commit())
		to.Revision += "+layout-" + g.file.Digest[:min(12, len(g.file.Digest))]
		g.from, g.to = s, to
	}
	return g.to
}
