package rollout

import "time"

// Status is what is known of a member at its ring's train.
type Status string

// The statuses, best first.
const (
	Healthy     Status = "healthy"
	Progressing Status = "progressing"
	// Unknown says that nothing reported counts: it is of an earlier digest, too old, or missing.
	Unknown  Status = "unknown"
	Degraded Status = "degraded"
)

// severity orders the statuses: the worst of a member's Applications is its own.
var severity = map[Status]int{Healthy: 0, Progressing: 1, Unknown: 2, Degraded: 3}

// MemberHealth is what is known of a member at its ring's train.
type MemberHealth struct {
	Member string
	Status Status
	Why    string
	// Broken is the last moment at which it was seen otherwise than healthy.
	Broken time.Time
}

// Take takes in what is known of one of the member's objects: the worst counts.
func (m *MemberHealth) Take(status Status, why string) {
	if severity[status] > severity[m.Status] {
		m.Status, m.Why = status, why
	}
}
