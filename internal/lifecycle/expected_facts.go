package lifecycle

import (
	"maps"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// SettledFacts are what a hub that knew base's facts while it ran base will know when it has run st
// for a while: a member that begins is registered, with what its file says and nothing that only
// the hub knows of it; and a label or annotation that Git declared, and declares no more, has gone
// from the cluster Secret, which External Secrets writes. The second result is false where that is
// what st knows already: so it is where facts are not those of a hub (facts.Set.Closed).
func SettledFacts(st *fleetstate.State, base *fleetstate.State) (facts.Set, bool) {
	known, changed := st.Facts(), false
	if !known.Closed {
		return known, false
	}
	clusters := map[string]facts.Cluster{}
	for _, name := range known.Names() {
		clusters[name], _ = known.Of(name)
	}
	for m, c := range st.Clusters() {
		if m.IsHub {
			continue
		}
		was := base.Cluster(m.Hub, m.Name)
		begins := was == nil || was.Member.Lifecycle == fleet.Retired
		switch now, registered := clusters[m.Name]; {
		case !registered && begins && m.Lifecycle != fleet.Retired:
			clusters[m.Name], changed = facts.Cluster{Name: m.Name}, true
		case registered && was != nil:
			var less [2]bool
			now.Labels, less[0] = undeclared(now.Labels, was.Labels.Declared, c.Labels.Declared)
			now.Annotations, less[1] = undeclared(now.Annotations, was.Annotations.Declared, c.Annotations.Declared)
			if less[0] || less[1] {
				clusters[m.Name], changed = now, true
			}
		}
	}
	all := make([]facts.Cluster, 0, len(clusters))
	for _, c := range clusters {
		all = append(all, c)
	}
	return known.WithClusters(all...), changed
}

// undeclared is what stays of a Secret's labels or annotations, and whether that is not all. What
// has another value than Git declared is somebody else's.
func undeclared(live, before, after map[string]string) (map[string]string, bool) {
	out := maps.Clone(live)
	maps.DeleteFunc(out, func(k, v string) bool {
		was, declared := before[k]
		_, still := after[k]
		return declared && !still && was == v
	})
	return out, len(out) < len(live)
}
