package generator

// ComponentsOf are the names of all components that a group's catalogs know for a member, sorted; nil when there is no
// such member or group. An empty hub is the one hub that has such a member.
func (st *State) ComponentsOf(hub, name, group string) []string {
	m, failure := st.find(hub, name)
	if failure != nil {
		return nil
	}
	g := st.clusters[m].groups[group]
	if g == nil {
		return nil
	}
	return g.components()
}
