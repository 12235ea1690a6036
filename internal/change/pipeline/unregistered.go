package pipeline

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// unregistered warns of members without a cluster Secret in the facts: their Applications are left
// out. It reports a hub without any cluster in the facts with one warning, and names it in strange:
// such facts are another hub's.
func unregistered(st *fleetstate.State, only string) (warnings []problem.Problem, strange []string) {
	for _, hub := range st.Fleet.Hubs() {
		if only != "" && hub != only {
			continue
		}
		var missing []problem.Problem
		members := slices.DeleteFunc(slices.Clone(st.Fleet.Members(hub)), func(m *fleet.Member) bool { return m.Lifecycle == fleet.Retired })
		for _, m := range members {
			if _, is := st.Facts().Of(m.Name); !is {
				missing = append(missing, problem.Problem{
					Reason: problem.NotExpanded, Severity: problem.Warning, Pos: m.Pos, Hub: hub, Cluster: m.Name, Subject: m.Name,
					Found: "no cluster Secret by the facts given, so that its Applications are left out",
				})
			}
		}
		if len(missing) > 0 && len(missing) == len(members) {
			strange = append(strange, hub)
			missing = []problem.Problem{{
				Reason: problem.NotExpanded, Severity: problem.Warning, Hub: hub, Subject: hub,
				Found: "the facts given know no cluster of the hub, so that its Applications are left out",
				Hints: []string{"give a file of facts with its clusters, or --hub for one other hub"},
			}}
		}
		warnings = append(warnings, missing...)
	}
	return warnings, strange
}
