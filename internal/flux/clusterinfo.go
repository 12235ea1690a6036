package flux

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
)

// clusterInfo is a ConfigMap with the facts of a cluster, the engine's own or another, under keys
// that a Kustomization of the fleet's can take variables from (spec.postBuild.substituteFrom):
// cluster, tenant, environment, hub, label_<key>, annotation_<key>.
func (r *renderer) clusterInfo(name string, self Identity) object {
	data := object{"cluster": self.Name, "tenant": self.Tenant, "environment": self.Environment, "hub": r.owned.Hub}
	r.flatten(data, self, "label", self.Labels)
	r.flatten(data, self, "annotation", self.Annotations)
	x := r.named(name, object{labelManagedBy: managedBy, labelCluster: self.Name})
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": x, "data": data}
}

var unfitInVariables = regexp.MustCompile(`[^A-Za-z0-9_]`)

// flatten adds labels or annotations. Of several that come to be one key, the first by name has it.
func (r *renderer) flatten(data object, self Identity, prefix string, set labels.Set) {
	taken := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(set.All)) {
		if key == labels.SecretType {
			continue // Argo CD's own
		}
		flat := prefix + "_" + unfitInVariables.ReplaceAllString(key, "_")
		if first, is := taken[flat]; is {
			pos, known := set.Origins[key]
			if !known {
				pos = self.Pos
			}
			r.problems = append(r.problems, problem.Problem{
				Reason: problem.DuplicateName, Severity: problem.Warning, Pos: pos, Subject: fmt.Sprintf("%s %q", prefix, key),
				Found: fmt.Sprintf("is %s in ConfigMap %s, as %q is, which has it", flat, ClusterInfo, first), Expected: "keys that differ in more than punctuation",
				Hub: r.owned.Hub, Cluster: self.Name,
			})
			continue
		}
		taken[flat] = key
		data[flat] = set.All[key]
	}
}
