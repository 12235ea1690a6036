package explain

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/released"
)

// Target names a component of a cluster.
type Target struct {
	Hub, Cluster, Group string
	// Component is a component, or component/companion.
	Component string
}

// FindApplication finds the component of an Application, whether its cluster runs it or not, or the
// registration of a cluster. An empty hub stands for all hubs. The error is a *problem.QueryError.
// It looks the name up among all possible names: a long name is truncated, with a hash, and cannot
// be parsed.
func FindApplication(st *fleetstate.State, hub, name string) (Target, error) {
	var found []Target
	var clusters, names []string
	for _, h := range st.Fleet.Hubs() {
		if hub != "" && h != hub {
			continue
		}
		for _, m := range st.Fleet.Members(h) {
			clusters = append(clusters, m.Name)
			if !m.IsHub && catalog.ApplicationName(fleetstate.Registration, m.Name) == name {
				found = append(found, Target{Hub: h, Cluster: m.Name, Group: fleetstate.FleetGroup, Component: fleetstate.Registration})
			}
			likely := strings.HasSuffix(name, "-"+m.Name)
			c := st.ClusterOf(m)
			for group, g := range c.Groups {
				for _, component := range released.GroupOf(st, c, g).Components() {
					is := catalog.ApplicationName(component, m.Name)
					if is == name {
						found = append(found, Target{Hub: h, Cluster: m.Name, Group: group, Component: component})
					}
					if likely {
						names = append(names, is)
					}
				}
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		slices.SortFunc(found, func(a, b Target) int { return strings.Compare(a.String(), b.String()) })
		text := make([]string, len(found))
		for i, n := range found {
			text[i] = n.String()
		}
		return Target{}, problem.BadRequest("Application %q may be %s: name the hub, or the cluster and component", name, strings.Join(text, " or "))
	case hub != "" && clusters == nil:
		return Target{}, problem.BadRequest("hub %q has no member files%s", hub, problem.Hint(hub, st.Fleet.Hubs()))
	case names == nil: // the cluster is not known: the name's end is it
		for i, c := range name {
			for _, cluster := range clusters {
				if c == '-' && abs(len(name)-i-1-len(cluster)) <= 2 {
					names = append(names, name[:i+1]+cluster)
				}
			}
		}
	}
	slices.Sort(names)
	return Target{}, problem.BadRequest("no component of any cluster is called %q%s", name, problem.Hint(name, slices.Compact(names)))
}

func abs(n int) int { return max(n, -n) }

func (t Target) String() string {
	return t.Group + "/" + t.Component + " on " + t.Cluster + " of hub " + t.Hub
}
