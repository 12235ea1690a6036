package plan

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// waits notes which changes of a cluster wait for others of the same plan. Until its dependencies
// are healthy in their new state, an Application is not served, or stays as it is.
func waits(all []Application) {
	for i := range all {
		a := &all[i]
		if a.Action == Remove {
			continue
		}
		for _, text := range a.dependsOn {
			d := lifecycle.ParseDependency(text)
			for _, other := range all {
				if other.Action != Remove && other.Owner == a.Owner && d.Is(other.Group, other.Component) {
					a.WaitsFor = append(a.WaitsFor, other.Group+"/"+other.Component)
				}
			}
		}
		slices.Sort(a.WaitsFor)
		a.WaitsFor = slices.Compact(a.WaitsFor)
	}
}
