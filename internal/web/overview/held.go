package overview

import (
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// The reasons why a cluster does not follow the newest commit.
const (
	HeldTenant     = "held-tenant"
	HeldQuarantine = "quarantined"
	HeldDraining   = "draining"
)

// heldBecause returns the reason why a cluster does not follow the newest commit.
func heldBecause(st *fleetstate.State, c *fleetstate.Cluster) string {
	if c.LastKnownGood != nil && c.Desired().Member.Lifecycle == fleet.Draining {
		return HeldDraining
	}
	q, is := st.QuarantineOf(c)
	switch {
	case !is:
		return ""
	case q.First().Reason == problem.RemovalRefused:
		return HeldTenant
	}
	return HeldQuarantine
}

// Known returns a time in seconds, nil if it is unknown.
func Known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}

// Short shortens a revision for people.
func Short(revision string) string {
	if len(revision) == 40 {
		return revision[:10]
	}
	return problem.Truncate(revision, 19)
}
