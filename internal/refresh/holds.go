package refresh

import (
	"time"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
)

// Holds returns what is held in a served state: what follows from the state alone, the repository
// whose newest commit is refused, and the mounts that are stale.
func (s Status) Holds(st *fleetstate.State) []hold.Hold {
	out := hold.OfState(st)
	since := map[fleetstate.ID]time.Time{}
	for _, q := range s.Quarantined {
		since[fleetstate.ID{Hub: q.Hub, Name: q.Member}] = q.Since
	}
	for i, h := range out {
		if h.Reason != hold.Draining && h.Reason != hold.Handover {
			out[i].Since = since[fleetstate.ID{Hub: h.Hub, Name: h.Cluster}]
		}
	}
	for _, r := range s.Refused {
		if r.Cause == Commit {
			out = append(out, hold.Hold{Reason: hold.Broken, Since: r.Since, Detail: "revision " + r.Revision + " is refused: " + r.Problem, Revision: st.Revision})
		}
	}
	for _, m := range s.Mounts {
		if m.IsStale() {
			out = append(out, hold.OfMount(st, m.Path, hold.Hold{Since: m.Since, Detail: m.Path + " (" + m.Repository + "): " + m.Problem, Revision: m.Revision})...)
		}
	}
	return out
}

// Stale returns the inputs that cannot be read or used: nothing newer of them counts.
func (s Status) Stale() []hold.Stale {
	out := []hold.Stale{}
	for _, r := range s.Refused {
		if r.Cause != Commit {
			out = append(out, hold.Stale{Cause: string(r.Cause), Since: r.Since, Detail: r.Problem})
		}
	}
	return out
}
