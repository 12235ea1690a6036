package hub

import (
	"time"
	"unique"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// Status is what an engine reports about one Application, HelmRelease or Kustomization.
type Status struct {
	Version, Sync, Health string
	// Since is when a change of these was last seen, in seconds; zero for never.
	Since time.Time
}

// live is what is stored of an object of an engine.
type live struct {
	// fact is the object's fact. It has the health that the engine reports.
	fact   facts.Application
	status unique.Handle[Status]
	since  int64 // when the status was seen to change, in seconds since 1970, or 0

	isBroken bool
	broken   int64 // when that was seen to change, in milliseconds since 1970, or 0

	// digestAt is when an Application's digest was written, in seconds since 1970, if the
	// Application was seen with it and an older status; else 0.
	digestAt int64
	reportAt int64       // when the report of a grant was written, in seconds since 1970, or 0
	flux     *fluxReport // nil for an Application
}

// newLive returns what is stored of an object with a fact and a status. Facts are collected for a
// moment and would show only the last state, so each change notes when the object breaks or
// recovers.
func newLive(fact facts.Application, status Status, isBroken bool, was *live, at time.Time) live {
	l := live{fact: fact, status: unique.Make(status), isBroken: isBroken}
	if was != nil {
		l.since, l.broken = was.since, was.broken
		if was.isBroken != isBroken {
			l.broken = at.UnixMilli()
		}
	}
	if !at.IsZero() && (was == nil || was.status != l.status) {
		l.since = at.Unix()
	}
	return l
}

// Statuses are the statuses of an engine's objects.
type Statuses struct{ all []*follower[live] }

// Of returns the status of the Application or Flux object of a name; false for none.
func (s *Statuses) Of(name string) (Status, bool) {
	for _, f := range s.all {
		f.mu.RLock()
		found, ok := f.all[name]
		f.mu.RUnlock()
		if ok {
			out := found.what.status.Value()
			if found.what.since > 0 {
				out.Since = time.Unix(found.what.since, 0)
			}
			return out, true
		}
	}
	return Status{}, false
}

// Version returns a number that changes with any status.
func (s *Statuses) Version() (out uint64) {
	for _, f := range s.all {
		f.mu.RLock()
		out += f.changes
		f.mu.RUnlock()
	}
	return out
}

// Silent returns why the API server does not report statuses now, and since when; nil if it does. A
// missing permission or resource does not count.
func (s *Statuses) Silent() (since time.Time, err error) {
	for _, f := range s.all {
		f.mu.RLock()
		since, err, denied := f.since, f.err, f.denied && f.all == nil
		f.mu.RUnlock()
		if err != nil && !denied {
			return since, err
		}
	}
	return time.Time{}, nil
}
