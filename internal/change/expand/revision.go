package expand

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleet"
)

const ownerHub = fleet.OwnerHub

// inCluster is the cluster that an Argo CD runs on.
const inCluster = "https://kubernetes.default.svc"

// local returns the snapshot of a source's path, or nil for another repository. missing says why a
// revision of this repository cannot be read.
func (h *Hub) local(s source.Source) (snap *snapshot.Snapshot, missing string) {
	if own := ownChart(s); own != nil {
		return own, ""
	}
	if s.Chart != "" || s.Path == "" {
		return nil, ""
	}
	return h.revision(s)
}

// isOwn reports whether an address is this repository's.
func (h *Hub) isOwn(url string) bool {
	_, ours := h.urls[source.Address(url)]
	return ours
}

// revision is local for a source without a path.
func (h *Hub) revision(s source.Source) (snap *snapshot.Snapshot, missing string) {
	tracked, ours := h.urls[source.Address(s.RepoURL)]
	switch {
	case !ours && h.o.Other != nil:
		return h.o.Other(s.RepoURL, s.Revision)
	case !ours:
		return nil, ""
	case s.Revision == tracked, s.Revision == "", s.Revision == "HEAD":
		return h.o.Snapshot, ""
	case h.o.At == nil:
		return nil, "other revisions of this repository cannot be read here"
	}
	snap, err := h.o.At(s.Revision)
	if err != nil {
		return nil, oneLine(err)
	}
	return snap, ""
}

// runsOn returns the engine of the cluster that an Application deploys to.
func (h *Hub) runsOn(o *object.Object) string {
	if o.Flux != nil {
		return cmp.Or(o.Flux.Cluster, o.Engine)
	}
	name, server := manifest.Text(o.Tree, "spec", "destination", "name"), manifest.Text(o.Tree, "spec", "destination", "server")
	i := slices.IndexFunc(h.o.Clusters, func(c Cluster) bool { return name != "" && c.Name == name || name == "" && c.Server == server })
	switch self := h.o.State.HubMember(h.o.Hub); {
	case name == "in-cluster", name == "" && (server == inCluster || server == ""):
		return o.Engine
	case self != nil && name == self.Name:
		return ownerHub
	case i >= 0 && h.o.Clusters[i].Server == inCluster:
		return ownerHub
	case i >= 0:
		return h.o.Clusters[i].Name
	case name != "":
		return name
	}
	return server
}

// clustersOf returns the clusters that an engine deploys to. An engine beside the hub's knows its
// own, which has the labels of the hub's Secret.
func (h *Hub) clustersOf(engine string) []Cluster {
	if engine == ownerHub || h.o.Clusters == nil {
		return h.o.Clusters
	}
	out := []Cluster{}
	for _, c := range h.o.Clusters {
		if c.Name == engine {
			c.Server = inCluster
			out = append(out, c)
		}
	}
	return out
}

// missingFolder describes a source whose folder does not exist.
func missingFolder(s source.Source) string {
	return fmt.Sprintf("path %q is not in this repository at revision %s", s.Path, cmp.Or(s.Revision, "HEAD"))
}
