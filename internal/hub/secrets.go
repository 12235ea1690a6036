package hub

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// nameKey is the annotation or label that names a Secret's cluster.
const nameKey = "cluster_name"

var secrets = resource{GroupVersion: schema.GroupVersion{Version: "v1"}, plural: "secrets", kind: "Secret", what: "cluster secrets", isMetadata: true}

// clusterSecret is what is stored of a cluster Secret.
type clusterSecret struct {
	name    string
	created metav1.Time
	cluster facts.Cluster
}

// followSecrets watches Argo CD's cluster Secrets.
func followSecrets(o Options) (*follower[clusterSecret], error) {
	return follow(o, secrets, clusterSecrets, reduceSecret)
}

// reduceSecret returns what is stored of a cluster Secret.
func reduceSecret(o *object, _ *clusterSecret, _ time.Time) clusterSecret {
	address := o.Annotations[facts.AddressAnnotation]
	maps.DeleteFunc(o.Annotations, func(key, _ string) bool {
		return repeatsContent(key) || isBookkeeping(key) || key == facts.AddressAnnotation
	})
	maps.DeleteFunc(o.Labels, func(key, _ string) bool { return isBookkeeping(key) })
	return clusterSecret{o.Name, o.CreationTimestamp, facts.Cluster{
		Name: cmp.Or(o.Annotations[nameKey], o.Labels[nameKey], o.Name), Labels: o.Labels, Annotations: o.Annotations, Address: address, Secret: string(o.UID),
	}}
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

// read makes facts of all Secrets.
func read(objects iter.Seq[clusterSecret]) (map[string]facts.Cluster, []problem.Problem) {
	all := slices.SortedFunc(objects, func(a, b clusterSecret) int {
		return cmp.Or(strings.Compare(a.cluster.Name, b.cluster.Name), a.created.Compare(b.created.Time), strings.Compare(a.name, b.name))
	})
	clusters := make(map[string]facts.Cluster, len(all))
	var problems []problem.Problem
	first := ""
	for _, s := range all {
		name := s.cluster.Name
		if _, dup := clusters[name]; dup {
			problems = append(problems, problem.Problem{
				Reason: problem.DuplicateSecret, Severity: problem.Warning, Cluster: name,
				Subject:  fmt.Sprintf("cluster %q", name),
				Found:    fmt.Sprintf("secret %q claims it, as the older %q does, which counts", s.name, first),
				Expected: "one cluster Secret",
				Hints:    []string{"delete one, or give it another " + nameKey + " annotation"},
			})
			continue
		}
		first, clusters[name] = s.name, s.cluster
	}
	return clusters, problem.Sorted(problems)
}
