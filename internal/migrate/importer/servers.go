package importer

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// Servers adds to the options' clusters the servers that live Applications deploy to, which
// metadata of cluster Secrets lacks. It runs the hub's ApplicationSets with the names of clusters
// in place of servers. A live Application of the same ApplicationSet and name has the server. A
// cluster stays without one if two Applications disagree, or if its server is part of the
// Applications' names. Sets is called if a server is unknown.
func Servers(o Options, live []verify.Live, sets func() ([]*snapshot.File, error)) ([]expand.Cluster, error) {
	isKnown := func(l verify.Live) bool {
		server := manifest.Text(l.Tree, "spec", "destination", "server")
		return server == "" || server == verify.InCluster || slices.ContainsFunc(o.Clusters, func(c expand.Cluster) bool { return c.Server == server })
	}
	if len(o.Clusters) == 0 || !slices.ContainsFunc(live, func(l verify.Live) bool { return !isKnown(l) }) {
		return o.Clusters, nil
	}
	var err error
	if o.ApplicationSets, err = sets(); err != nil || len(o.ApplicationSets) == 0 {
		return o.Clusters, err
	}
	m := &importer{o: o}
	if err := m.clusters(); err != nil {
		return nil, err
	}
	deploysTo := map[[2]string]string{}
	for _, l := range live {
		owners, _ := manifest.At(l.Tree, "metadata", "ownerReferences").([]any)
		for _, owner := range owners {
			if manifest.Text(owner, "kind") == "ApplicationSet" {
				deploysTo[[2]string{manifest.Text(owner, "name"), manifest.Text(l.Tree, "metadata", "name")}] = manifest.Text(l.Tree, "spec", "destination", "server")
			}
		}
	}
	found := map[string]string{} // by the name that stands for the server
	for _, s := range m.applicationSets() {
		all, err := o.Tools.ApplicationSets.Parameters(s.tree, expand.Inputs{Git: o.Repositories.Open, Clusters: m.known})
		if err != nil {
			continue // its Applications' destination stays unknown, and is reported
		}
		for _, parameters := range all {
			made, err := o.Tools.ApplicationSets.Application(parameters)
			if err != nil {
				continue
			}
			server := deploysTo[[2]string{s.name, manifest.Text(made, "metadata", "name")}]
			unknown := manifest.Text(made, "spec", "destination", "server")
			if !strings.HasSuffix(unknown, unknownDomain) || server == "" {
				continue
			}
			if other, is := found[unknown]; is && other != server {
				server = ""
			}
			found[unknown] = server
		}
	}
	for i, c := range m.known {
		if server, is := found[c.Server]; is {
			m.known[i].Server = server
		}
	}
	return m.known, nil
}
