package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/release"
)

// readReleases reads the group's releases from the repository's versions file. Without any, each
// name in a label becomes a release: selectors and paths of value files can read the label.
func (m *importer) readReleases() error {
	there, err := scaffold.Releases(m.o.Repositories.Own.Snapshot)
	if m.releases = there[m.o.Group]; len(m.releases) == 0 {
		m.releases, m.addsReleases = []string{release.DefaultType}, true
	}
	return err
}

// withReleases sets releases that the fleet has in a cluster's labels, and returns these. A label
// with an unknown release gets the first one, to which such a repository's ApplicationSets fall
// back.
func (m *importer) withReleases(cluster string, of map[string]string) map[string]string {
	group := release.LabelOf(m.o.Group)
	if named := of[group]; m.addsReleases && named != "" && !slices.Contains(m.releases, named) {
		m.releases = append(m.releases, named)
		m.note("added release %s to %s: %s of %s names it", named, fleet.DefaultLayout().ApplicationSets, group, cluster)
	}
	for label, types := range map[string][]string{group: m.releases, release.FleetSecretsLabel: {release.DefaultType}} {
		named, isLabelled := of[label]
		if slices.Contains(types, named) || !isLabelled && slices.Contains(types, release.DefaultType) {
			continue
		}
		of[label] = types[0]
		why := fmt.Sprintf("it named %q, which is not a release", named)
		if !isLabelled {
			why = "it had none, and no release is called " + release.DefaultType
		}
		m.note("set %s of %s to %s: %s", label, cluster, types[0], why)
	}
	return of
}

// releaseItems returns the items of the group's list in the versions file.
func (m *importer) releaseItems() string {
	var b strings.Builder
	for _, name := range m.releases {
		fmt.Fprintf(&b, "    - type: %q\n", name)
	}
	return b.String()
}
