package fleettest

import (
	"context"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Source is a source of snapshots that a test controls.
type Source struct {
	// Reports receives the reports that Watch passes on.
	Reports chan Report
	// Refreshes gets one element for each call of Refresh.
	Refreshes chan struct{}
	closed    atomic.Bool
}

// Report is the result of a poll: a snapshot, an error, or both.
type Report struct {
	Snapshot *snapshot.Snapshot
	Err      error
}

// NewSource returns a source that has reported nothing yet.
func NewSource() *Source {
	return &Source{Reports: make(chan Report), Refreshes: make(chan struct{}, 100)}
}

// Snapshot implements source.Source. It waits until the context ends, as a service uses Watch.
func (s *Source) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Refresh implements source.Source.
func (s *Source) Refresh() { s.Refreshes <- struct{}{} }

// String implements source.Source.
func (s *Source) String() string { return "script" }

// Close implements source.Source.
func (s *Source) Close() error { s.closed.Store(true); return nil }

// Closed reports whether Close has been called.
func (s *Source) Closed() bool { return s.closed.Load() }

// Watch implements source.Source.
func (s *Source) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-s.Reports:
			update(r.Snapshot, r.Err)
		}
	}
}
