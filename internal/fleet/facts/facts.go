// Package facts holds what is known beyond the repository, from Kubernetes or from a file: the
// labels, annotations and server of clusters, from their Argo CD cluster Secrets, and the
// Applications and HelmReleases that the engines have. A facts file looks like this:
//
//	apiVersion: argosy.dev/v1alpha1
//	kind: Facts
//	closed: true
//	clusters:
//	  - name: bank-dev
//	    server: https://10.0.0.1
//	    labels: {region: eu}
//
// Callers may rely on the following:
//
//  1. Facts never hold credentials: requests to Kubernetes are only for metadata, and a facts file
//     has no place for them.
//  2. A Set is immutable; a change makes a new one.
//  3. In an open Set (no facts, or a file without closed) every member counts as registered. In a
//     closed one (Kubernetes) a member is registered when its Secret has been seen.
//  4. A Set knows all Applications of the requesting engine, or none are known (Set.Applications):
//     that there is no Application is a fact, too. The same holds for HelmReleases
//     (Set.HelmReleases). Where one engine has replaced the other, both may have one of the same
//     name.
//  5. A member's engine may run a group while it holds the group's ownership grant, and the hub's
//     engine while there is none. The hub delivers a grant by an Application of its own
//     (Application.Grant), which exists as long as the grant may. Where the member's service
//     watches the grants, Set.Grants returns them. A report on the group's components
//     (Application.Report) says only how they are, never who has them.
package facts

import (
	"maps"
	"slices"
)

// Cluster has the facts of one cluster.
type Cluster struct {
	Name string `json:"name" expect:"the cluster's name"`
	// Server is the API server's URL; empty when unknown, as metadata does not tell it.
	Server      string            `json:"server,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Address is the API server's URL, too, for probes: the annotation AddressAnnotation. No
	// response has it, so an upgrade that begins to write it changes none.
	Address string `json:"address,omitempty" is:"internal"`
	// Secret is the UID of the current cluster Secret; empty when there is none, or when it is not
	// known.
	Secret string `json:"secret,omitempty" is:"internal"`
}

// AddressAnnotation is the annotation of a cluster Secret with the URL of the API server, which is
// in its data, too.
const AddressAnnotation = "argosy.dev/server"

// Equal reports whether two clusters' facts are the same.
func (c Cluster) Equal(d Cluster) bool {
	return c.Name == d.Name && c.Server == d.Server && c.Address == d.Address && c.Secret == d.Secret && maps.Equal(c.Labels, d.Labels) && maps.Equal(c.Annotations, d.Annotations)
}

// Set has the facts of all clusters, Applications and HelmReleases. The zero value knows nothing
// and is open.
type Set struct {
	// Closed means that only the clusters listed are registered.
	Closed       bool
	clusters     map[string]Cluster
	applications *applications // Argo CD's; nil when nothing is known of them
	helmReleases *applications // Flux's; likewise
	grants       *grants       // nil where they are not watched
	health       bool          // Application.Healthy is known
}

// NewSet makes a set of clusters; closed as in Set.Closed.
func NewSet(closed bool, clusters ...Cluster) Set {
	m := make(map[string]Cluster, len(clusters))
	for _, c := range clusters {
		m[c.Name] = c
	}
	return Set{Closed: closed, clusters: m}
}

// Of returns the facts of a cluster (only its name when nothing is known) and whether it is
// registered.
func (s Set) Of(name string) (Cluster, bool) {
	if c, ok := s.clusters[name]; ok {
		return c, true
	}
	return Cluster{Name: name}, !s.Closed
}

// Names returns the names of the clusters with facts, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.clusters)) }

// WithClusters returns the set with other clusters; the rest stays.
func (s Set) WithClusters(clusters ...Cluster) Set {
	out := NewSet(s.Closed, clusters...)
	out.applications, out.helmReleases, out.grants, out.health = s.applications, s.helmReleases, s.grants, s.health
	return out
}

// Equal reports whether two sets are equal.
func (s Set) Equal(t Set) bool {
	return s.health == t.health && s.EqualClusters(t) && s.EqualGrants(t) && s.applications.equal(t.applications) && s.helmReleases.equal(t.helmReleases)
}

// EqualClusters reports whether two sets have the same clusters, whatever their Applications.
func (s Set) EqualClusters(t Set) bool {
	return s.Closed == t.Closed && maps.EqualFunc(s.clusters, t.clusters, Cluster.Equal)
}
