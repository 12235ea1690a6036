package pipeline

import (
	"bytes"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// A repository without a fleet is followed from its own Applications and ApplicationSets. It gets a
// fleet of one hub that registers nothing, which stands for the Argo CD that runs them.

// FoundHub is the name of that hub.
const FoundHub = "argocd"

var (
	foundLayout = []byte("apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups: {fleet: null, monitoring: null, resources: null}\n# of a repository without a fleet\n")
	foundMember = []byte("clusterName: " + FoundHub + "\ntenant: " + FoundHub + "\nfleet_member: hub-cluster\n")
)

// IsFleet reports whether a repository has files of a fleet.
func IsFleet(s *snapshot.Snapshot) bool {
	return s.File(fleet.LayoutFile) != nil || len(s.Under("fleet/fleet-members"))+len(s.Under(expand.Bootstrap)) > 0 || s.File(fleet.DefaultLayout().ApplicationSets) != nil
}

// isFound reports whether a snapshot is that of a repository without a fleet.
func isFound(s *snapshot.Snapshot) bool {
	f := s.File(fleet.LayoutFile)
	return f != nil && bytes.Equal(f.Data, foundLayout)
}

// isWithoutFleet reports whether a repository has no fleet, but Applications or ApplicationSets.
func isWithoutFleet(revisions ...*snapshot.Snapshot) bool {
	return !slices.ContainsFunc(revisions, IsFleet) && slices.ContainsFunc(revisions, func(s *snapshot.Snapshot) bool {
		return slices.ContainsFunc(s.FilesUnder(""), source.MayMakeApplications)
	})
}

// Found returns the snapshot of a repository without a fleet, with one for expand.Options.IsFound.
func Found(s *snapshot.Snapshot) *snapshot.Snapshot {
	files := map[string]*snapshot.File{}
	for name, data := range map[string][]byte{fleet.LayoutFile: foundLayout, "fleet/fleet-members/" + FoundHub + "/" + FoundHub + ".yaml": foundMember} {
		files[name] = snapshot.NewFile(name, data, snapshot.MaxFileSize)
	}
	return s.With(files)
}
