package fleetstate

import "slices"

// IsLastKnown reports whether a cluster's Secret has gone, and what it said is known still.
func (st *State) IsLastKnown(c *Cluster) bool {
	return st.Facts().Closed && c.Registered && c.Facts.Secret == ""
}

// LastKnown are the members of a hub that are computed from what was last known of them, as their
// Secrets have gone, sorted. An empty hub means all.
func (st *State) LastKnown(hub string) []string {
	var out []string
	for _, name := range st.Fleet.Hubs() {
		if hub != "" && hub != name {
			continue
		}
		for i, m := range st.Fleet.Members(name) {
			if c := st.clusters[name][i]; st.IsLastKnown(c) && !c.IsRetired() {
				out = append(out, m.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}
