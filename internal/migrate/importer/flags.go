package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/placement"
)

// memberFlags are flags of member files, beside enable_remote_<group>.
var memberFlags = []string{placement.FlagRemote, "use_external_secrets", "push_argo_secrets", "githubSecret", "use_fleet_ack", "use_argocd_ingress"}

// withoutFlags returns a cluster's labels without the labels that a member file has as flags. As
// flags they would hand the group to an engine of the cluster, away from the imported
// ApplicationSets, or need components that no ApplicationSet has. They stay on the cluster's
// Secret, where selectors read them.
func (m *importer) withoutFlags(cluster string, of map[string]string) map[string]string {
	of = maps.Clone(of)
	for _, flag := range slices.Sorted(maps.Keys(of)) {
		value := of[flag]
		if value == "false" || !strings.HasPrefix(flag, "enable_remote_") && !slices.Contains(memberFlags, flag) {
			continue
		}
		delete(of, flag)
		m.note("left out label %s=%s of %s: the member file has a flag of this name, which changes who deploys what", flag, value, cluster)
	}
	return of
}

// facts returns the facts in the clusters' Secrets, by member.
func (m *importer) facts() facts.Set {
	var clusters []facts.Cluster
	for _, c := range m.known {
		clusters = append(clusters, facts.Cluster{Name: m.members[m.nameOf(c)].Name, Labels: c.Labels, Annotations: c.Annotations})
	}
	return facts.NewSet(false, clusters...)
}

// noteReplaced notes where the fleet differs from the clusters' Secrets, except for releases, which
// withReleases notes.
func (m *importer) noteReplaced(st *fleetstate.State) {
	for _, c := range st.Clusters() {
		for _, r := range inventory.Replaced(c) {
			if r.Key != release.LabelOf(m.o.Group) && r.Key != release.FleetSecretsLabel {
				m.note("%s %q of %s: %s", r.Kind, r.Key, c.Member.Name, r)
			}
		}
	}
}

// note adds a note, once.
func (m *importer) note(format string, of ...any) { m.notes[fmt.Sprintf(format, of...)] = true }
