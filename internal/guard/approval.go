package guard

import (
	"fmt"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
)

// maxAhead is how far ahead an approval should expire at most: what was approved long ago was not reviewed for today.
const maxAhead = 30 * 24 * time.Hour

// approvedUntil reports whether an approval that has not expired names a loss, and when it ends.
func approvedUntil(f *fleet.Fleet, hub string, l Loss, now time.Time) (time.Time, bool) {
	r := fleet.Removal{Hub: hub, Cluster: l.Cluster, Group: l.Group, Component: l.Component}
	if m := f.Member(hub, l.Cluster); m != nil {
		r.Tenant, r.Environment = m.Tenant, m.Environment
	}
	var ends time.Time
	for _, a := range f.Approvals {
		if !a.ExpiredAt(now) && a.Ends().After(ends) && a.Approves(r) {
			ends = a.Ends()
		}
	}
	return ends, !ends.IsZero()
}

// Lint is what is wrong with approvals today: those that have expired, and those that are valid for too long.
func Lint(st *generator.State, now time.Time) []problem.Problem {
	var out []problem.Problem
	for _, a := range st.Fleet.Approvals {
		p := problem.Problem{Severity: problem.Warning, Pos: a.Pos, Subject: "approval"}
		switch day := a.Expires.Format(time.DateOnly); {
		case a.ExpiredAt(now):
			p.Reason, p.Found, p.Expected = problem.ExpiredApproval, "expired with "+day, "no file that approves nothing any more"
		case a.Expires.Sub(now) > maxAhead:
			p.Reason, p.Found = problem.InvalidApproval, "expires with "+day
			p.Expected = fmt.Sprintf("a day within the next %d", int(maxAhead.Hours()/24))
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}
