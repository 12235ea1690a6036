package existing

import (
	"cmp"
	"encoding/base64"
	"maps"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/labels"
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
