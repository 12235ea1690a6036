package refresh

import (
	"time"

	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// publish makes r.serving the State, if it is another one, and says in Status what was decided. It
// returns the refusals.
func (r *Refresher) publish(d decision, began time.Time) []Refusal {
	r.mu.Lock()
	before, readAt := r.status, r.read.at
	r.mu.Unlock()

	next := before
	next.Computing = time.Time{}
	if d.swapped {
		next.Revision = r.serving.snapshot.Revision
		if next.Revision != before.Revision { // else it is about facts alone
			next.Since = r.o.Now()
		}
		next.Quarantined = quarantined(r.serving.state, r.o.Hub, before.Quarantined, began)
	}
	next.Waiting, next.Refused = d.waiting, d.refused
	next.Mounts = r.mountStatus(before.Mounts, began)
	for i := range next.Refused {
		next.Refused[i].Since = began
		for _, old := range before.Refused {
			if old.same(next.Refused[i]) {
				next.Refused[i].Since = old.Since
			}
		}
	}
	if next.Ready() && len(next.Refused) == 0 && readAt.After(next.LastSuccess) {
		next.LastSuccess = readAt // facts say nothing of the source
	}
	r.log(before, next, d.swapped, began)

	r.mu.Lock()
	if d.swapped {
		r.state.Store(r.serving.state)
	}
	next.StoreProblem = r.status.StoreProblem
	r.status = next
	r.notify()
	r.mu.Unlock()
	return next.Refused
}

// notify closes Changed. The caller holds the lock.
func (r *Refresher) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// maxLogged bounds the members that one reconciliation logs.
const maxLogged = 10

func (r *Refresher) log(before, next Status, swapped bool, began time.Time) {
	if swapped {
		st := r.serving.state
		r.o.Logger.Info("serving", "revision", next.Revision, "source", next.Source, "hub", r.o.Hub,
			"members", len(st.Fleet.Members(r.o.Hub)), "errors", len(st.Errors(r.o.Hub)), "quarantined", len(next.Quarantined))
	}
	known := make(map[fleetstate.ID]Quarantined, len(before.Quarantined))
	for _, q := range before.Quarantined {
		known[fleetstate.ID{Hub: q.Hub, Name: q.Member}] = q
	}
	logged := 0
	for _, q := range next.Quarantined {
		if known[fleetstate.ID{Hub: q.Hub, Name: q.Member}].same(q) {
			continue
		}
		if logged++; logged <= maxLogged {
			r.o.Logger.Warn("quarantined", "member", q.Member, "hub", q.Hub, "standing", q.Standing, "reason", q.Reason,
				"problem", q.Problem, "problems", q.Problems, "revision", q.Revision, "serving", next.Revision)
		}
	}
	if logged > maxLogged {
		r.o.Logger.Warn("quarantined", "moreMembers", logged-maxLogged, "serving", next.Revision)
	}
	for _, m := range next.Mounts {
		if m.IsStale() && m.Since.Equal(began) {
			r.o.Logger.Warn("stale mount", "mount", m.Path, "repository", m.Repository, "reason", m.Reason, "problem", m.Problem, "serving", m.Revision)
		}
	}
	for _, n := range next.Refused {
		known := false
		for _, old := range before.Refused {
			known = known || old.same(n)
		}
		if !known {
			r.o.Logger.Warn("refused", "cause", n.Cause, "reason", n.Reason, "problem", n.Problem, "problems", n.Problems,
				"revision", n.Revision, "serving", next.Revision)
		}
	}
	if next.Ready() && len(before.Refused) > 0 && len(next.Refused) == 0 {
		r.o.Logger.Info("nothing refused any more", "revision", next.Revision)
	}
}
