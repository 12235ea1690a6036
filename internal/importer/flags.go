package importer

import (
	"fmt"
	"maps"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/placement"
)

// withoutFlags returns a cluster's labels without those that a member file has as flags. As flags
// they would hand the group to an engine of the cluster, away from the ApplicationSets that are
// imported. They stay on the cluster's Secret, where selectors read them.
func (m *importer) withoutFlags(member string, of map[string]string) map[string]string {
	of = maps.Clone(of)
	for _, flag := range []string{placement.FlagRemote, "enable_remote_" + m.o.Group, "githubSecret"} {
		value, is := of[flag]
		if !is || value == "false" {
			continue
		}
		delete(of, flag)
		if m.live[member] == nil {
			m.live[member] = map[string]string{}
		}
		m.live[member][flag] = value
		m.notes = append(m.notes, fmt.Sprintf("left out label %s=%s of %s: the member file has a flag of this name, which changes who deploys what", flag, value, member))
	}
	return of
}

// facts are the labels that only the clusters' Secrets have.
func (m *importer) facts() facts.Set {
	var clusters []facts.Cluster
	for name, of := range m.live {
		clusters = append(clusters, facts.Cluster{Name: name, Labels: of})
	}
	return facts.NewSet(false, clusters...)
}
