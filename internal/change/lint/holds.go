package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Holds reports holds that have ended, and holds that end too far ahead.
func Holds(st *fleetstate.State, now time.Time) (out []problem.Problem) {
	for _, h := range st.Fleet.Holds {
		p := problem.Problem{Pos: h.LastDayPos, Subject: fmt.Sprintf("hold %q", h.Name)}
		switch {
		case h.EndedAt(now):
			p.Reason, p.Severity, p.Found, p.Hints = problem.EndedHold, problem.Warning, "ended on "+h.LastDay, []string{"delete the file"}
		case h.Ends().AddDate(0, 0, -1).Sub(now) > fleet.MaxHold:
			p.Reason, p.Severity, p.Found = problem.InvalidHold, problem.Error, "ends on "+h.LastDay
			p.Expected = fmt.Sprintf("a day within the next %d", int(fleet.MaxHold.Hours()/24))
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}

// holds reports the components that a hold names and the fleet lacks, selectors that select no
// member, and files in the holds' folder that are never read.
func (l *linter) holds() {
	l.problems = append(l.problems, l.st.Fleet.HoldProblems...)
	for _, h := range l.st.Fleet.Holds {
		p := problem.Problem{Reason: problem.InvalidHold, Severity: problem.Warning, Pos: h.ComponentsPos}
		for _, c := range h.Components {
			group, component, _ := strings.Cut(c, "/")
			if _, known := l.st.Fleet.Layout.Groups[group]; !known || component == fleet.Any {
				continue
			}
			if hints, known := l.knows(c); !known {
				p.Subject, p.Found, p.Hints = fmt.Sprintf("component %q", c), "not in this fleet, so that nothing of it is held", hints
				l.problems = append(l.problems, p)
			}
		}
		covers := func(hub string) bool { return slices.ContainsFunc(l.st.Fleet.Members(hub), h.CoversMember) }
		if h.Selector != nil && !slices.ContainsFunc(l.st.Fleet.Hubs(), covers) {
			p.Pos, p.Subject, p.Found, p.Hints = h.Pos, fmt.Sprintf("hold %q", h.Name), "its selector selects no member, so that nothing is held", nil
			l.problems = append(l.problems, p)
		}
	}
	l.strays(fleet.HoldFolder, "holds", fleet.HoldName)
}

// strays reports the files in a folder of Argosy's own files that are never read.
func (l *linter) strays(folder, of string, name func(file string) (string, bool)) {
	for _, file := range l.st.Resolver().Snapshot.Under(folder) {
		l.reachable[file] = true
		if _, is := name(file); !is {
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.UnreachableFile, Severity: problem.Warning, Pos: problem.Pos{File: file}, Subject: "file",
				Found: "is in the folder of " + of + " but is not one", Expected: "files named " + folder + "/<name>.yaml",
			})
		}
	}
}
