package flux

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/problem"
	"k8s.io/apimachinery/pkg/util/validation"
)

// healthTimeout is how long a Kustomization waits for what it has applied; a new revision waits for
// that, too.
const healthTimeout = "5m"

// manifests is the objects of a component that is a folder in Git: its source and a Kustomization.
// What is taken out of the folder is pruned; what is applied stays when the Kustomization goes,
// unless that has been marked (rule 3).
func (r *renderer) manifests(c paramset.ComponentSet, own bool) []object {
	if c.Namespace != "" && len(validation.IsDNS1123Label(c.Namespace)) > 0 {
		r.fault(c, problem.UnsupportedEngine, fmt.Sprintf("namespace %q of component %q", c.Namespace, c.Component), "is none that Kubernetes takes", "a DNS-1123 label", "namespace")
	}
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
	if !own {
		spec["kubeConfig"] = object{"secretRef": object{"name": r.KubeConfig(c.Name)}}
	}
	r.impersonate(c, spec)
	if c.Substitute {
		spec["postBuild"] = object{"substituteFrom": []any{object{"kind": "ConfigMap", "name": r.variables(c, own), "optional": false}}}
	}
	r.dependsOn(c, spec)
	var out []object
	if c.Chart.Path != "" { // else it is to go, and is a chart of a registry now
		if source := r.gitRepository(c); source != nil {
			out = append(out, source)
		}
	}
	return sealed(append(out, object{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": r.metadata(c.ApplicationName, c), "spec": spec,
	}), c)
}

// variables is the name of the ConfigMap with a cluster's facts: of one that is not the engine's
// own, it has its name.
func (r *renderer) variables(c paramset.ComponentSet, own bool) string {
	if own {
		return ClusterInfo
	}
	name := ClusterInfo + "-" + c.Name
	file := "clusters/" + c.Name + ".yaml"
	if _, there := r.shared[file]; !there {
		var known labels.Metadata
		_ = json.Unmarshal(c.Metadata, &known) // the engine's own
		r.shared[file] = r.clusterInfo(name, Identity{
			Name: c.Name, Tenant: c.Tenant, Environment: c.Environment,
			Labels: labels.Set{All: known.Labels}, Annotations: labels.Set{All: known.Annotations},
		})
	}
	return name
}

// components are those that an engine runs, by cluster and name.
type components map[[2]string]paramset.ComponentSet

func byName(all []paramset.ComponentSet) components {
	out := components{}
	for _, c := range all {
		out[[2]string{c.Name, c.Component}] = c
	}
	return out
}

// dependsOn are the components that a component waits for: those of its own kind that run on its
// cluster. Flux knows no other order; what waits for the other kind fails, and is tried again.
func (all components) dependsOn(c paramset.ComponentSet) []paramset.ComponentSet {
	var out []paramset.ComponentSet
	for _, text := range c.DependsOn {
		d := lifecycle.ParseDependency(text)
		other, runs := all[[2]string{c.Name, d.Component}]
		if runs && d.Is(other.Group, other.Component) && other.Kind == c.Kind && !slices.ContainsFunc(out, func(o paramset.ComponentSet) bool { return o.Component == d.Component }) {
			out = append(out, other)
		}
	}
	return out
}

// waitsFor reports whether a component waits for one of a name, over others.
func (all components) waitsFor(c paramset.ComponentSet, name string, seen map[string]bool) bool {
	for _, other := range all.dependsOn(c) {
		if other.Component == name {
			return true
		}
		if !seen[other.Component] {
			seen[other.Component] = true
			if all.waitsFor(other, name, seen) {
				return true
			}
		}
	}
	return false
}

// dependsOn writes the order of a component into its spec.
func (r *renderer) dependsOn(c paramset.ComponentSet, spec object) {
	var out []any
	for _, other := range r.all.dependsOn(c) {
		out = append(out, object{"name": other.ApplicationName})
	}
	if c.Kind == "" { // Flux orders objects of one kind
		for _, name := range slices.Sorted(maps.Keys(c.Companions)) {
			out = append(out, object{"name": companionName(c, name)})
		}
	}
	if out == nil {
		return
	}
	spec["dependsOn"] = out
	if r.all.waitsFor(c, c.Component, map[string]bool{}) {
		r.fault(c, problem.InvalidValue, fmt.Sprintf("dependsOn of component %q", c.Component), "leads back to itself: neither would ever be deployed", "an order", "dependsOn")
	}
}
