package flux

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/labels"
)

// clusterInfo returns a ConfigMap with the facts of a cluster, the engine's own or another. A
// Kustomization of the fleet can take variables from its keys (spec.postBuild.substituteFrom):
// cluster, tenant, environment, hub, label_<key>, annotation_<key>.
func (r *renderer) clusterInfo(name string, self Identity) object {
	data := object{"cluster": self.Name, "tenant": self.Tenant, "environment": self.Environment, "hub": r.owned.Hub}
	r.flatten(data, self, "label", self.Labels)
	r.flatten(data, self, "annotation", self.Annotations)
	x := r.named(name, object{labelManagedBy: managedBy, labelCluster: self.Name})
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": x, "data": data}
}

var unfitInVariables = regexp.MustCompile(`[^A-Za-z0-9_]`)

// flatten adds labels or annotations. If several become one key, the first by name has it.
func (r *renderer) flatten(data object, self Identity, prefix string, set labels.Set) {
	taken := map[string]string{}
	report := func(severity problem.Severity, reason problem.Reason, key, found, expected string) {
		pos, known := set.Origins[key]
		if !known {
			pos = self.Pos
		}
		r.problems = append(r.problems, problem.Problem{
			Reason: reason, Severity: severity, Pos: pos, Subject: fmt.Sprintf("%s %q", prefix, key),
			Found: found, Expected: expected, Hub: r.owned.Hub, Cluster: self.Name,
		})
	}
	for _, key := range slices.Sorted(maps.Keys(set.All)) {
		if key == labels.SecretType {
			continue // only for Argo CD
		}
		flat := prefix + "_" + unfitInVariables.ReplaceAllString(key, "_")
		if first, is := taken[flat]; is {
			report(problem.Warning, problem.DuplicateName, key, fmt.Sprintf("is %s in ConfigMap %s, as %q is, which has it", flat, ClusterInfo, first), "keys that differ in more than punctuation")
			continue
		}
		if len(validation.IsConfigMapKey(flat)) > 0 {
			report(problem.Error, problem.UnsupportedEngine, key, fmt.Sprintf("is a key of %d bytes in ConfigMap %s", len(flat), ClusterInfo), fmt.Sprintf("at most %d", validation.DNS1123SubdomainMaxLength))
			continue
		}
		taken[flat] = key
		data[flat] = set.All[key]
	}
}
