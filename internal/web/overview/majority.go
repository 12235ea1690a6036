package overview

import "github.com/argosy-hub/argosy/internal/resolve/explain"

// minMajority is how many clusters an environment needs before one of them differs from the others.
const minMajority = 3

// majority is the version that most clusters of an environment have of a component.
type majority struct {
	version      string
	count, total int
}

type place struct {
	environment string
	component   Component
}

// majorities returns the versions that more than half of an environment's clusters have.
func majorities(rows []row) map[place]majority {
	type in struct {
		environment string
		cell        cell
	}
	clusters := map[in]int{}
	for _, r := range rows {
		for _, c := range r.cells {
			clusters[in{r.cluster.Member.Environment, c}]++
		}
	}
	counts := map[place]map[string]int{}
	for of, n := range clusters {
		d := of.cell.Value()
		if d.state != explain.Deployed {
			continue
		}
		at := place{of.environment, d.Component}
		if counts[at] == nil {
			counts[at] = map[string]int{}
		}
		counts[at][d.version()] += n
	}
	out := map[place]majority{}
	for at, versions := range counts {
		var m majority
		for version, n := range versions {
			m.total += n
			if n > m.count {
				m.version, m.count = version, n
			}
		}
		if m.total >= minMajority && 2*m.count > m.total {
			out[at] = m
		}
	}
	return out
}
