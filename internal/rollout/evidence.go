package rollout

import (
	"fmt"
	"time"
)

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

// Evidence is what an engine reports of one object, and what it was answered.
type Evidence struct {
	// Name is the object's.
	Name string
	// Answered is the digest of the parameter set, and Live the object's; "" where it has none.
	Answered, Live string
	// Written is when the object was last written by what carries the digest, and Reported when the
	// engine last wrote its status.
	Written, Reported time.Time
	// Sync and Health are the engine's words.
	Sync, Health string
	// Broken is the last moment at which it was seen otherwise than synced and healthy.
	Broken time.Time
}

// Judge says whether the report counts, and what it says (G8). The engine's clock counts in
// seconds: a report of the second of the write may be older than it.
func (e Evidence) Judge() (Status, string) {
	switch {
	case e.Live == "":
		return Unknown, fmt.Sprintf("%s has no digest yet", e.Name)
	case e.Live != e.Answered:
		return Unknown, fmt.Sprintf("%s has not taken what it is answered", e.Name)
	case e.Written.IsZero() || !e.Reported.After(e.Written):
		return Unknown, fmt.Sprintf("the engine has reported nothing of %s since it was written", e.Name)
	case e.Health == "Degraded":
		return Degraded, fmt.Sprintf("%s is degraded", e.Name)
	case e.Sync != "Synced":
		return Progressing, fmt.Sprintf("%s is not synced", e.Name)
	case e.Health != "Healthy":
		return Progressing, fmt.Sprintf("%s is not healthy", e.Name)
	}
	return Healthy, ""
}

// MemberHealth is what is known of a member at its ring's train.
type MemberHealth struct {
	Member string
	Status Status
	Why    string
	// Broken is the last moment at which it was seen otherwise than healthy.
	Broken time.Time
}

// HealthOf is a member's: the worst of what is known of its objects.
func HealthOf(member string, objects []Evidence) MemberHealth {
	out := MemberHealth{Member: member, Status: Healthy}
	for _, e := range objects {
		if status, why := e.Judge(); severity[status] > severity[out.Status] {
			out.Status, out.Why = status, why
		}
		if e.Broken.After(out.Broken) {
			out.Broken = e.Broken
		}
	}
	return out
}
