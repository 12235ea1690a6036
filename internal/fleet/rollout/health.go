package rollout

import (
	"slices"
	"time"
)

// Status is the health of a member at its ring's train.
type Status string

// The statuses, best first.
const (
	Healthy     Status = "healthy"
	Progressing Status = "progressing"
	// Unknown says that no report counts: it is of an earlier digest, too old, or missing.
	Unknown  Status = "unknown"
	Degraded Status = "degraded"
)

// severity orders the statuses: the worst status of a member's Applications is the member's.
var severity = map[Status]int{Healthy: 0, Progressing: 1, Unknown: 2, Degraded: 3}

// MemberHealth is the health of a member at its ring's train.
type MemberHealth struct {
	Member string
	Status Status
	Why    string
	// Broken is the last moment at which the member was seen otherwise than healthy.
	Broken time.Time
}

// Take records the status of one of the member's objects: the worst counts.
func (m *MemberHealth) Take(status Status, why string) {
	if severity[status] > severity[m.Status] {
		m.Status, m.Why = status, why
	}
}

// NoteBreak records when one of the member's objects was last seen otherwise than healthy, in
// milliseconds since 1970; 0 for never.
func (m *MemberHealth) NoteBreak(at int64) {
	if broken := time.UnixMilli(at); at > 0 && broken.After(m.Broken) {
		m.Broken = broken
	}
}

// together is how far apart two members may break to count as broken at once: facts are collected
// for a moment, and a break may be over before the next one is seen.
const together = time.Minute

// lastBreak returns the last moment at which more members than allowed were unhealthy at once, zero
// for none.
func lastBreak(members []MemberHealth, allowed int, now time.Time) time.Time {
	var breaks []time.Time
	for _, m := range members {
		switch {
		case m.Status != Healthy:
			breaks = append(breaks, now)
		case !m.Broken.IsZero():
			breaks = append(breaks, m.Broken)
		}
	}
	slices.SortFunc(breaks, func(a, b time.Time) int { return b.Compare(a) })
	for i := range max(0, len(breaks)-allowed) {
		if first := breaks[i+allowed]; breaks[i].Sub(first) <= together {
			return first
		}
	}
	return time.Time{}
}
