package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/migrate/existing"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// objects returns the objects of a document: itself, or the items of a list.
func objects(root tree) []tree {
	if items, list := manifest.Items(root); list {
		return items
	}
	return []tree{root}
}

// nameOf returns the name of a cluster in Argo CD: the hub's for the cluster that Argo CD runs on.
func (m *importer) nameOf(c expand.Cluster) string {
	if c.Server == verify.InCluster {
		return m.o.Hub
	}
	return c.Name
}

// unknownServer returns a placeholder for an unknown server: metadata does not have it.
func unknownServer(name string) string { return "https://" + name + unknownDomain }

const unknownDomain = ".server.unknown"

// clusters reads the given clusters, else the clusters whose Secrets are in the repository, in
// order of their names.
func (m *importer) clusters() error {
	all := m.o.Clusters
	from := "the clusters"
	if all == nil {
		from = "the repository's cluster Secrets"
		for _, p := range m.o.Repositories.Own.Snapshot.Paths() {
			if f := m.o.Repositories.Own.Snapshot.File(p); manifest.IsFile(p) && strings.Contains(string(f.Data), labels.SecretType) {
				found, err := existing.Secrets(f)
				if err != nil {
					continue // a template, or not a manifest
				}
				all = append(all, found...)
			}
		}
	}
	m.known = []expand.Cluster{} // without clusters, Argo CD's generator lists the cluster that it runs on
	byName, byServer := map[string]bool{}, map[string]string{}
	for _, c := range all {
		c.Name = strings.TrimSpace(c.Name)
		if byName[c.Name] {
			return fmt.Errorf("%s have two clusters of the name %q", from, c.Name)
		}
		byName[c.Name] = true
		if c.Server == "" {
			c.Server = unknownServer(c.Name)
			if (c.Name == m.o.Hub || c.Name == verify.InClusterName) && byServer[verify.InCluster] == "" { // Argo CD runs on it
				c.Server = verify.InCluster
			}
		}
		if other := byServer[c.Server]; other != "" {
			return fmt.Errorf("%s have two clusters with the server %s: %q and %q", from, c.Server, other, c.Name)
		}
		byServer[c.Server] = c.Name
		m.known = append(m.known, c)
	}
	slices.SortFunc(m.known, func(a, b expand.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	m.findSecrets()
	return nil
}
