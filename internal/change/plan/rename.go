package plan

import (
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// renames marks created and removed components of a cluster that are one under another name: the
// same chart of the same group, and no other like it. To engines they are two: the workloads of the
// old name are deleted or stay as for any removal.
func renames(applications []Application) {
	type like struct{ group, repoURL, name, path string }
	created, removed := map[like][]int{}, map[like][]int{}
	for i, a := range applications {
		if a.View != query.Components {
			continue
		}
		k := like{a.Group, a.chart.RepoURL, a.chart.Name, a.chart.Path}
		switch {
		case a.Action == Create:
			created[k] = append(created[k], i)
		case a.Action == Remove:
			removed[k] = append(removed[k], i)
		}
	}
	for k, now := range created {
		if was := removed[k]; len(was) == 1 && len(now) == 1 {
			applications[now[0]].RenamedFrom, applications[was[0]].RenamedTo = applications[was[0]].Name, applications[now[0]].Name
		}
	}
}
