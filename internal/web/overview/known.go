package overview

import (
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

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
