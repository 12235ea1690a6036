package importer

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// Secrets returns the clusters of a file of cluster Secrets, as kubectl get secrets -o yaml writes
// it. Of a Secret's data it reads the cluster's name, server and project, never the credentials.
func Secrets(f *snapshot.File) ([]expand.Cluster, error) {
	docs, err := manifest.Documents(f)
	if err != nil {
		return nil, err
	}
	var out []expand.Cluster
	for _, doc := range docs {
		all := []*yamldoc.Node{doc.Root}
		if items := doc.Root.Get("items"); items != nil {
			all = items.Items()
		}
		r := yamldoc.NewReader(doc)
		for _, n := range all {
			if c, ok := clusterOf(r, n); ok {
				out = append(out, c)
			}
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// objects returns the objects of a document: itself, or the items of a list.
func objects(root tree) []tree {
	if items, list := manifest.Items(root); list {
		return items
	}
	return []tree{root}
}

// clusterOf returns the cluster of a cluster Secret.
func clusterOf(r *yamldoc.Reader, n *yamldoc.Node) (expand.Cluster, bool) {
	if n.Get("kind").Text() != "Secret" || n.Get("metadata").Get("labels").Get(labels.SecretType).Text() != labels.SecretTypeValue {
		return expand.Cluster{}, false
	}
	text := func(key string) string {
		if plain := n.Get("stringData").Get(key).Text(); plain != "" {
			return plain
		}
		data, err := base64.StdEncoding.DecodeString(n.Get("data").Get(key).Text())
		if err != nil {
			return ""
		}
		return string(data)
	}
	metadata := r.Map(n.Get("metadata"), "metadata")
	c := expand.Cluster{Server: text("server"), Project: text("project"), Labels: metadata.StringMap("labels"), Annotations: metadata.StringMap("annotations")}
	c.Name = cmp.Or(text("name"), c.Annotations["cluster_name"], c.Labels["cluster_name"], metadata.String("name"))
	maps.DeleteFunc(c.Annotations, func(key, _ string) bool { return strings.Contains(key, "last-applied") })
	return c, true
}

// FromFacts returns the clusters of facts.
func FromFacts(f facts.Set) []expand.Cluster {
	var out []expand.Cluster
	for _, name := range f.Names() {
		c, _ := f.Of(name)
		out = append(out, expand.Cluster{Name: name, Server: c.Server, Labels: maps.Clone(c.Labels), Annotations: c.Annotations})
	}
	return out
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
				found, err := Secrets(f)
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
