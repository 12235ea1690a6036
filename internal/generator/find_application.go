package generator

import (
	"slices"
	"strings"
)

// Named is what an Application is called after.
type Named struct{ Hub, Cluster, Group, Component string }

// FindApplication is what an Application of this name is: a component of a cluster, whether it runs there or not, or the
// registration of one. An empty hub stands for all hubs. The error is an *Error. (A name may be cut, with a hash: it is looked up
// among the names that there can be, not taken apart.)
func (st *State) FindApplication(hub, name string) (Named, error) {
	var found []Named
	var clusters, names []string
	for _, h := range st.Fleet.Hubs() {
		if hub != "" && h != hub {
			continue
		}
		for _, m := range st.Fleet.Members(h) {
			clusters = append(clusters, m.Name)
			if !m.IsHub && ApplicationName(Registration, m.Name) == name {
				found = append(found, Named{h, m.Name, FleetGroup, Registration})
			}
			likely := strings.HasSuffix(name, "-"+m.Name)
			c := st.ClusterOf(m)
			for group, g := range c.Groups {
				for _, component := range st.GroupAsReleased(c, g).Components() {
					is := ApplicationName(component, m.Name)
					if is == name {
						found = append(found, Named{h, m.Name, group, component})
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
		slices.SortFunc(found, func(a, b Named) int { return strings.Compare(a.String(), b.String()) })
		text := make([]string, len(found))
		for i, n := range found {
			text[i] = n.String()
		}
		return Named{}, BadRequestError("Application %q may be %s: name the hub, or the cluster and component", name, strings.Join(text, " or "))
	case hub != "" && clusters == nil:
		return Named{}, BadRequestError("hub %q has no member files%s", hub, Hint(hub, st.Fleet.Hubs()))
	case names == nil: // the cluster is not known: it is what the name ends in
		for i, c := range name {
			for _, cluster := range clusters {
				if c == '-' && abs(len(name)-i-1-len(cluster)) <= 2 {
					names = append(names, name[:i+1]+cluster)
				}
			}
		}
	}
	slices.Sort(names)
	return Named{}, BadRequestError("no component of any cluster is called %q%s", name, Hint(name, slices.Compact(names)))
}

func abs(n int) int { return max(n, -n) }

func (n Named) String() string {
	return n.Group + "/" + n.Component + " on " + n.Cluster + " of hub " + n.Hub
}
