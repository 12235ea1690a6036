package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// A repository without a fleet is followed from its own Applications and ApplicationSets, and the
// Kustomizations of Flux. It gets a stand-in: a fleet of one hub, without clusters, for the engine
// that runs them.

var standInLayout = []byte("apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups: {fleet: null, monitoring: null, resources: null}\n# of a repository without a fleet\n")

// StandInHub returns the name of the stand-in's hub at all of these revisions.
func StandInHub(revisions ...*snapshot.Snapshot) string {
	if hasFile(source.MayMakeApplications, revisions...) {
		return "argocd"
	}
	return expand.FluxAlone
}

// hasFile reports whether one of the revisions has such a file.
func hasFile(is func(*snapshot.File) bool, revisions ...*snapshot.Snapshot) bool {
	return slices.ContainsFunc(revisions, func(s *snapshot.Snapshot) bool { return slices.ContainsFunc(s.FilesUnder(""), is) })
}

// IsFleet reports whether a repository has files of a fleet.
func IsFleet(s *snapshot.Snapshot) bool {
	return s.File(fleet.LayoutFile) != nil || len(s.Under("fleet/fleet-members")) > 0 || s.File(fleet.DefaultLayout().ApplicationSets) != nil
}

// hasStandIn reports whether a snapshot has the stand-in instead of a fleet of its own.
func hasStandIn(s *snapshot.Snapshot) bool {
	f := s.File(fleet.LayoutFile)
	return f != nil && bytes.Equal(f.Data, standInLayout)
}

// isWithoutFleet reports whether a repository has no fleet, but Applications, ApplicationSets or
// Kustomizations of Flux.
func isWithoutFleet(revisions ...*snapshot.Snapshot) bool {
	return !slices.ContainsFunc(revisions, IsFleet) && (hasFile(source.MayMakeApplications, revisions...) || hasFile(source.MayBeOfFlux, revisions...))
}

// WithStandIn returns the snapshot of a repository without a fleet, with the stand-in: for
// expand.Options.HasNoFleet.
func WithStandIn(s *snapshot.Snapshot, hub string) *snapshot.Snapshot {
	files := map[string]*snapshot.File{}
	member := []byte("clusterName: " + hub + "\ntenant: " + hub + "\nfleet_member: hub-cluster\n")
	for name, data := range map[string][]byte{fleet.LayoutFile: standInLayout, "fleet/fleet-members/" + hub + "/" + hub + ".yaml": member} {
		files[name] = snapshot.NewFile(name, data, snapshot.MaxFileSize)
	}
	return s.With(files)
}

// unknownServer stands for the address of a cluster whose Secret is not at hand.
func unknownServer(cluster string) string { return "https://" + cluster + ".invalid" }

// warnOfServers names the clusters whose addresses objects would have, if they were known.
func (p *Pipelines) warnOfServers(objects []*object.Object) {
	for _, c := range p.o.Clusters {
		if server := unknownServer(c.Name); c.Server == server && slices.ContainsFunc(objects, func(o *object.Object) bool {
			return manifest.Text(o.Tree, "spec", "destination", "server") == server
		}) {
			p.o.Repository.Warn(problem.Problem{
				Reason: problem.NotExpanded, Severity: problem.Warning, Subject: fmt.Sprintf("cluster %q", c.Name),
				Found: "its address is not known: " + server + " stands for it", Hints: []string{"--clusters FILE has the cluster Secrets"},
			})
		}
	}
}

// checkRoots returns an error for a root that no revision has, and for a repository without any.
func checkRoots(roots []string, revisions ...*snapshot.Snapshot) error {
	if !isWithoutFleet(revisions...) && !slices.ContainsFunc(revisions, IsFleet) {
		return problem.FailureOf(errors.New("the repository has no fleet, and no Application, ApplicationSet or Kustomization of Flux"), problem.NoMembers, problem.Pos{}, "argosy init starts a fleet; --repo names another folder")
	}
	for _, root := range roots {
		if !isWithoutFleet(revisions...) {
			return problem.Usage(nil, "--root %s: a fleet has its roots in %s", root, expand.Bootstrap)
		}
		all := source.Source{Path: root, Directory: source.Directory{Recurse: true}}
		if !slices.ContainsFunc(revisions, func(s *snapshot.Snapshot) bool {
			return source.MakesApplications(s, all) || source.HasKustomizations(s, root)
		}) {
			return problem.Usage([]string{"it names a file, or the folder of a chart, a kustomization or manifests"}, "--root %s: no Application or ApplicationSet there, and no Kustomization of Flux", root)
		}
	}
	return nil
}
