package lint

import (
	"fmt"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Removals reports catalogs of levels that switch nothing on, and approvals that have expired, or
// expire too far ahead.
func Removals(st *fleetstate.State, now time.Time) []problem.Problem {
	out := emptyCatalogs(st)
	for _, a := range st.Fleet.Approvals {
		p := problem.Problem{Severity: problem.Warning, Pos: a.Pos, Subject: "approval"}
		switch day := a.Expires.Format(time.DateOnly); {
		case a.ExpiredAt(now):
			p.Reason, p.Found, p.Expected = problem.ExpiredApproval, "expired with "+day, "no file that approves nothing any more"
		case a.Expires.Sub(now) > fleet.MaxAhead:
			p.Reason, p.Severity, p.Found = problem.InvalidApproval, problem.Error, "expires with "+day+", and approves nothing"
			p.Expected = fmt.Sprintf("a day within the next %d", int(fleet.MaxAhead.Hours()/24))
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}

// emptyCatalogs reports catalogs of levels without an entry. What such a file switched on would be
// lost by a commit that empties it (rule 5).
func emptyCatalogs(st *fleetstate.State) []problem.Problem {
	var out []problem.Problem
	seen := map[string]bool{}
	for _, c := range st.Clusters() {
		for _, g := range c.Groups {
			for _, l := range g.Catalogs {
				if entries := catalog.Entries(l.Root); seen[l.Path] || entries != nil && len(entries.Fields()) > 0 {
					continue
				}
				seen[l.Path] = true
				out = append(out, problem.Problem{
					Reason: problem.EmptyCatalog, Severity: problem.Warning, Pos: problem.Pos{File: l.Path},
					Subject: fmt.Sprintf("group %q", g.Name), Found: "a catalog without an entry",
					Expected: "entries, or no file: nothing is switched on here",
				})
			}
		}
	}
	return out
}
