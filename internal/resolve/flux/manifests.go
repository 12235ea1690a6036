package flux

import (
	"encoding/json"
	"strings"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// healthTimeout is how long a Kustomization waits for what it has applied; a new revision waits for
// that, too.
const healthTimeout = "5m"

// manifests returns the objects of a component that is a folder in Git: its source and a
// Kustomization. What is removed from the folder is pruned. What was applied stays when the
// Kustomization is deleted, unless the removal is marked.
func (r *renderer) manifests(c paramset.ComponentSet, own bool) []object {
	r.check(c)
	if own && c.Namespace != "" && c.Team == "" {
		r.ownNamespace(c)
	}
	spec := object{
		"interval": interval, "retryInterval": retryInterval, "timeout": healthTimeout,
		"sourceRef": object{"kind": "GitRepository", "name": c.ApplicationName},
		"path":      "./" + strings.Trim(strings.TrimPrefix(c.Chart.Path, "./"), "/"),
		"prune":     true, "wait": true, "deletionPolicy": "Orphan",
	}
	if c.Namespace != "" {
		spec["targetNamespace"] = c.Namespace
	}
	r.access(c, own, spec)
	var variables []any
	if c.Substitute {
		info := r.variables(c, own)
		spec["postBuild"] = object{"substituteFrom": []any{object{"kind": "ConfigMap", "name": nameOf(info), "optional": false}}}
		variables = append(variables, info["data"])
	}
	r.dependsOn(c, spec)
	var out []object
	if c.Chart.Path != "" { // else it is removed, and is a chart of a registry now
		if source := r.gitRepository(c); source != nil {
			out = append(out, source)
		}
	}
	return sealed(append(out, object{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": r.metadata(c.ApplicationName, c), "spec": spec,
	}), c, variables...)
}

// variables returns the ConfigMap with a cluster's facts. The name contains the cluster's, unless
// it is the engine's own cluster.
func (r *renderer) variables(c paramset.ComponentSet, own bool) object {
	if own {
		return r.info
	}
	name := ClusterInfo + "-" + c.Name
	file := "clusters/" + c.Name + ".yaml"
	if _, there := r.shared[file]; !there {
		var known labels.Metadata
		_ = json.Unmarshal(c.Metadata, &known) // written by this program
		self := Identity{
			Name: c.Name, Tenant: c.Tenant, Environment: c.Environment,
			Labels: labels.Set{All: known.Labels}, Annotations: labels.Set{All: known.Annotations},
		}
		if r.owned.st != nil && r.owned.st.Cluster(c.Hub, c.Name) != nil {
			cluster := r.owned.st.Cluster(c.Hub, c.Name)
			self.Pos, self.Labels.Origins, self.Annotations.Origins = cluster.Member.Pos, cluster.Labels.Origins, cluster.Annotations.Origins
		}
		r.share(c, file, r.clusterInfo(name, self))
	}
	return r.shared[file]
}
