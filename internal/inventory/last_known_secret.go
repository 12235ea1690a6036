package inventory

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// isLastKnown reports whether a cluster's Secret has gone, and what it said is known still.
func isLastKnown(st *fleetstate.State, c *fleetstate.Cluster) bool {
	return st.Facts().Closed && c.Registered && c.Facts.Secret == ""
}

// LastKnown are the members of a hub that are computed from what was last known of them, as their
// Secrets have gone, sorted. An empty hub means all.
func LastKnown(st *fleetstate.State, hub string) []string {
	var out []string
	for m, c := range st.Clusters() {
		if (hub == "" || hub == m.Hub) && isLastKnown(st, c) && !c.IsRetired() {
			out = append(out, m.Name)
		}
	}
	slices.Sort(out)
	return out
}
