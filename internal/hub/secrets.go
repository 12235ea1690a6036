package hub

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// nameKey is the annotation or label that names a Secret's cluster.
const nameKey = "cluster_name"

// trim keeps the metadata of a Secret that facts need.
func trim(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil // a tombstone
	}
	annotations, labels := maps.Clone(m.Annotations), maps.Clone(m.Labels)
	maps.DeleteFunc(annotations, func(key, _ string) bool { return repeatsContent(key) || isBookkeeping(key) })
	maps.DeleteFunc(labels, func(key, _ string) bool { return isBookkeeping(key) })
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, CreationTimestamp: m.CreationTimestamp,
		Labels: labels, Annotations: annotations,
	}}, nil
}

// repeatsContent reports whether an annotation holds a copy of the whole object, a Secret's data
// included. kubectl apply writes one, and so do other tools (Rancher's objectset, Banzai's object
// matcher).
func repeatsContent(key string) bool {
	_, name, ok := strings.Cut(key, "/")
	if !ok {
		name = key
	}
	return strings.HasPrefix(name, "last-applied") || key == "objectset.rio.cattle.io/applied"
}

// isBookkeeping reports whether a label or annotation is External Secrets' own note on its Secret,
// such as a hash of the data (v0.19.2, apis/externalsecrets/v1, AnnotationDataHash). It is not
// about the cluster, and would change every response when a credential is rotated.
func isBookkeeping(key string) bool { return strings.HasPrefix(key, "reconcile.external-secrets.io/") }

// clusterName returns the name of a Secret's cluster.
func clusterName(m *metav1.PartialObjectMetadata) string {
	return cmp.Or(m.Annotations[nameKey], m.Labels[nameKey], m.Name)
}

// read makes facts of all Secrets.
func read(objects []any) (map[string]facts.Cluster, []problem.Problem) {
	var all []*metav1.PartialObjectMetadata
	for _, o := range objects {
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *metav1.PartialObjectMetadata) int {
		return cmp.Or(strings.Compare(clusterName(a), clusterName(b)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	clusters := make(map[string]facts.Cluster, len(all))
	var problems []problem.Problem
	first := ""
	for _, m := range all {
		name := clusterName(m)
		if _, dup := clusters[name]; dup {
			problems = append(problems, problem.Problem{
				Reason: problem.DuplicateSecret, Severity: problem.Warning, Cluster: name,
				Subject:  fmt.Sprintf("cluster %q", name),
				Found:    fmt.Sprintf("secret %q claims it, as the older %q does, which counts", m.Name, first),
				Expected: "one cluster Secret",
				Hints:    []string{"delete one, or give it another " + nameKey + " annotation"},
			})
			continue
		}
		first = m.Name
		annotations, address := m.Annotations, m.Annotations[facts.AddressAnnotation]
		if address != "" {
			annotations = maps.Clone(annotations)
			delete(annotations, facts.AddressAnnotation)
		}
		clusters[name] = facts.Cluster{Name: name, Labels: m.Labels, Annotations: annotations, Address: address, Secret: string(m.UID)}
	}
	return clusters, problem.Sorted(problems)
}
