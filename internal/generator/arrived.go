package generator

// Arrived are the clusters whose Secret has come since an earlier state, for the first time or anew. Argo CD does not
// ask again by itself for an Application whose cluster it did not know: that is an invalid destination to it, which it
// looks at again when the generator's requeue time has passed (argo-cd v2.14 and v3.2, applicationset_controller.go,
// Reconcile).
func (st *State) Arrived(before *State) []string {
	var out []string
	for _, name := range st.facts.Names() {
		now, _ := st.facts.Of(name)
		if was, _ := before.facts.Of(name); now.Secret != "" && now.Secret != was.Secret {
			out = append(out, name)
		}
	}
	return out
}

// DeploysTo reports whether the answer to a request has a set for one of the clusters.
func (st *State) DeploysTo(r Request, clusters []string) bool {
	if len(clusters) == 0 || r.View != Components && r.View != Agents && r.View != Grants {
		return false // the others deploy to the asker's own cluster
	}
	told, err := st.Told(r)
	if err != nil {
		return false
	}
	arrived := make(map[string]bool, len(clusters))
	for _, name := range clusters {
		arrived[name] = true
	}
	for e := range told.all() {
		if arrived[e.subject.Cluster] {
			return true
		}
	}
	return false
}
