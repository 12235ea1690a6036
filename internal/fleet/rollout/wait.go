package rollout

import (
	"fmt"
	"strings"
	"time"
)

// WaitReason is a stable code for why a ring waits.
type WaitReason string

// The reasons.
const (
	Paused        WaitReason = "paused"
	Pinned        WaitReason = "pinned"
	Failed        WaitReason = "failed"
	Unhealthy     WaitReason = "health"
	ChecksFail    WaitReason = "check"
	Soaking       WaitReason = "soak"
	PreviousRing  WaitReason = "previous-ring"
	Busy          WaitReason = "own-train"
	NeedsApproval WaitReason = "approval"
	Frozen        WaitReason = "freeze"
	Closed        WaitReason = "window"
	Skips         WaitReason = "skips-version"
	Missing       WaitReason = "missing-revision"
	Lost          WaitReason = "lost-record"
)

// WaitReasons are all reasons, in the order of the documentation.
var WaitReasons = []WaitReason{Unhealthy, ChecksFail, Soaking, PreviousRing, Busy, NeedsApproval, Closed, Frozen, Failed, Paused, Pinned, Skips, Missing, Lost}

// words name what a ring waits for.
var words = map[WaitReason]string{
	Paused: "the policy to be resumed", Pinned: "its pin to be removed", Failed: "a revision that does not fail", Unhealthy: "health",
	ChecksFail: "its checks to hold", Soaking: "the end of its soak", PreviousRing: "the ring before it", Busy: "its own train",
	NeedsApproval: "an approval", Frozen: "the end of a freeze", Closed: "its window", Missing: "the files of the revision",
	Skips: "a revision between", Lost: "a pin, as its record is lost",
}

// Wait says what a ring waits for.
type Wait struct {
	Ring string `json:"ring"`
	// Train is the train that waits: the ring's own until it passes, else the one to take.
	Train  Train      `json:"train"`
	Reason WaitReason `json:"reason"`
	// Cluster is a member that the ring waits for.
	Cluster string `json:"cluster,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Since is when the wait began, and Earliest when it can end; zero where it is not known.
	Since    time.Time `json:"since,omitzero"`
	Earliest time.Time `json:"earliest,omitzero"`
}

// String describes a wait in one line.
func (w Wait) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "waits for %s", words[w.Reason])
	if w.Cluster != "" {
		fmt.Fprintf(&b, " on cluster %s", w.Cluster)
	}
	if !w.Since.IsZero() {
		fmt.Fprintf(&b, " since %s", w.Since.UTC().Format(time.RFC3339))
	}
	if !w.Earliest.IsZero() {
		fmt.Fprintf(&b, ", until at the earliest %s", w.Earliest.UTC().Format(time.RFC3339))
	}
	if w.Detail != "" {
		fmt.Fprintf(&b, ": %s", w.Detail)
	}
	return b.String()
}

func (a *advance) block(ring *Ring, w Wait) {
	w.Ring = ring.Name
	a.blocks[ring.Name] = w
}

// unhealthy returns the wait for a ring's health.
func (a *advance) unhealthy(ring *Ring, r Record) Wait {
	w := Wait{Ring: ring.Name, Train: r.Train, Reason: Unhealthy, Since: r.Since}
	if r.Failure != "" {
		w.Reason, w.Detail = Failed, r.Failure
	}
	health, known := a.facts.Health[ring.Name]
	if !known || health.Revision != r.Train.Revision {
		w.Detail = "nothing is known of its members at " + Short(r.Train.Revision)
		return w
	}
	worst := MemberHealth{Status: Healthy}
	for _, m := range a.facts.Health[ring.Name].Members {
		if severity[m.Status] > severity[worst.Status] {
			worst = m
		}
	}
	switch {
	case worst.Member != "":
		w.Cluster = worst.Member
		if w.Detail == "" {
			w.Detail = worst.Why
		}
	case r.Failure == "":
		w.Reason, w.Detail = ChecksFail, a.checks(ring, r).Why
	}
	return w
}

// waits returns why each ring that is not done waits: for its own gate, or for the train that it
// would take.
func (a *advance) waits() []Wait {
	var out []Wait
	for i := range a.policy.Rings {
		ring := &a.policy.Rings[i]
		r := a.log.Rings[ring.Name]
		switch block, isBlocked := a.blocks[ring.Name]; {
		case r.Train.Number == 0:
			out = append(out, block)
		case r.Failure != "" || !r.HasPassed() && r.HealthySince.IsZero():
			out = append(out, a.unhealthy(ring, r))
		case !r.HasPassed():
			out = append(out, Wait{Ring: ring.Name, Train: r.Train, Reason: Soaking, Since: r.HealthySince, Earliest: r.HealthySince.Add(ring.Soak)})
		case isBlocked && (r.Train.Number < a.log.Newest.Number || block.Reason == Pinned):
			out = append(out, block)
		case r.Rejected == a.log.Newest.Number && r.Rejected > r.Train.Number:
			out = append(out, Wait{Ring: ring.Name, Train: a.log.Newest, Reason: Failed, Since: r.Since, Detail: "it went back: " + r.Rejection})
		case r.Train.Number < a.log.Newest.Number && i > 0:
			out = append(out, Wait{Ring: ring.Name, Train: a.log.Newest, Reason: PreviousRing, Detail: a.policy.Rings[i-1].Name, Earliest: a.earliest(i)})
		}
	}
	return out
}

// earliest returns when the ring before one can pass its train, zero where it is not known.
func (a *advance) earliest(i int) time.Time {
	before := &a.policy.Rings[i-1]
	if r := a.log.Rings[before.Name]; !r.HasPassed() && !r.HealthySince.IsZero() {
		return r.HealthySince.Add(before.Soak)
	}
	return time.Time{}
}
