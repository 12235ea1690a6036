// Package facts holds what is known of clusters beyond the repository: labels, annotations and server of their
// Argo CD cluster Secrets, from Kubernetes or from a file.
//
//  1. Facts never hold credentials: Kubernetes is asked for metadata alone, and a facts file has no place for them.
//  2. A Set is immutable; a change makes a new one.
//  3. In an open Set (no facts, or a file) every member counts as registered; in a closed one (Kubernetes) a member
//     is registered when its Secret has been seen.
package facts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Cluster is what is known of one cluster.
type Cluster struct {
	Name        string
	Server      string // API server's URL; empty when unknown (metadata does not tell)
	Labels      map[string]string
	Annotations map[string]string
}

// Equal reports whether two clusters' facts are the same.
func (c Cluster) Equal(d Cluster) bool {
	return c.Name == d.Name && c.Server == d.Server && maps.Equal(c.Labels, d.Labels) && maps.Equal(c.Annotations, d.Annotations)
}

// Set is the facts of all clusters. The zero value knows nothing and is open.
type Set struct {
	// Closed means that only the clusters listed are registered.
	Closed   bool
	clusters map[string]Cluster
}

// NewSet makes a set of clusters; closed as in Set.Closed.
func NewSet(closed bool, clusters ...Cluster) Set {
	m := make(map[string]Cluster, len(clusters))
	for _, c := range clusters {
		m[c.Name] = c
	}
	return Set{Closed: closed, clusters: m}
}

// Of returns the facts of a cluster (empty but for the name when nothing is known) and whether it is registered.
func (s Set) Of(name string) (Cluster, bool) {
	if c, ok := s.clusters[name]; ok {
		return c, true
	}
	return Cluster{Name: name}, !s.Closed
}

// Names are the names of the clusters of which something is known, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.clusters)) }

// Parse reads a facts file: apiVersion argosy.dev/v1alpha1, kind Facts, clusters with name, server, labels and
// annotations. All that is wrong comes back as a problem.List.
func Parse(file string, data []byte) (Set, error) {
	doc, err := yamldoc.Parse(file, data)
	if err != nil {
		return Set{}, err
	}
	r := yamldoc.NewReader(doc)
	root := r.Map(doc.Root, "the facts file")
	root.Known("apiVersion", "kind", "clusters")
	root.Const("apiVersion", "argosy.dev/v1alpha1")
	root.Const("kind", "Facts")
	var clusters []Cluster
	seen := map[string]problem.Pos{}
	for i, item := range root.List("clusters") {
		m := r.Map(item, fmt.Sprintf("cluster %d", i+1))
		m.Known("name", "server", "labels", "annotations")
		c := Cluster{Name: m.String("name"), Server: m.String("server"), Labels: m.StringMap("labels"), Annotations: m.StringMap("annotations")}
		switch first, dup := seen[c.Name]; {
		case strings.TrimSpace(c.Name) == "":
			r.Add(problem.InvalidValue, item, `key "name"`, "missing or empty", "the cluster's name")
		case dup:
			r.Add(problem.InvalidValue, item, fmt.Sprintf("cluster %q", c.Name), "listed twice, first at "+first.String(), "each cluster once")
		default:
			seen[c.Name] = doc.Pos(item)
			clusters = append(clusters, c)
		}
	}
	if err := r.Err(); err != nil {
		return Set{}, err
	}
	return NewSet(false, clusters...), nil
}
