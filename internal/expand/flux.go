package expand

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// HelmReleases and Kustomizations are to Flux what Applications are to Argo CD: they name what is deployed, by the name of another
// object, which comes with them or with what makes them.

// deployed is what one of Flux's objects deploys.
type deployed struct {
	source  source
	cluster string // "" for the engine's own
}

// Deploys reports whether an object has charts or manifests deployed: an Application, or one of Flux's that is not suspended.
func (o *Object) Deploys() bool { return o.Application() || o.flux != nil }

// siblings are the objects that came together, by kind and name.
type siblings map[[2]string][]*Object

// ofFlux reports whether an object is one of Flux's.
func (o *Object) ofFlux() bool {
	group, _, _ := strings.Cut(o.APIVersion(), "/")
	return strings.HasSuffix(group, ".toolkit.fluxcd.io")
}

// connect tells the objects of Flux among those that came together what they deploy. Suspended ones deploy nothing.
func (h *Hub) connect(objects []*Object) []*Object {
	if !slices.ContainsFunc(objects, (*Object).ofFlux) {
		return objects
	}
	all := siblings{}
	for _, o := range objects {
		key := [2]string{o.Kind(), o.Name()}
		all[key] = append(all[key], o)
		o.siblings = all
	}
	for _, o := range objects {
		if suspended, _ := At(o.Tree, "spec", "suspend").(bool); suspended {
			continue
		}
		var s source
		switch {
		case o.is("helm.toolkit.fluxcd.io", "HelmRelease"):
			s = h.helmRelease(o)
		case o.is("kustomize.toolkit.fluxcd.io", "Kustomization"):
			var applies bool
			if s, applies = h.fluxKustomization(o); !applies {
				continue
			}
		default:
			continue
		}
		o.flux = &deployed{source: s}
		o.of = entry{cluster: o.Label("argosy.dev/cluster"), group: o.Label("argosy.dev/group"), component: o.Label("argosy.dev/component")}
		if to := At(o.Tree, "spec", "kubeConfig"); to != nil {
			o.flux.cluster = cmp.Or(o.of.cluster, "kubeconfig "+text(to, "secretRef", "name"))
		}
	}
	return objects
}

// refers is the object that one of Flux's names, nil if nothing that is followed makes it.
func (h *Hub) refers(o *Object, kind, namespace, name string) *Object {
	for from := o; from != nil; from = from.Parent {
		for _, x := range from.siblings[[2]string{kind, name}] {
			if x.Engine == o.Engine && maySame(namespace, text(x.Tree, "metadata", "namespace")) {
				return x
			}
		}
		if kind != "ConfigMap" {
			continue
		}
		for key, all := range from.siblings { // what an artifact brings: the facts of the cluster
			if key[0] != "OCIRepository" {
				continue
			}
			for _, pulled := range all {
				if x := h.pulled(pulled, o.Engine, name); x != nil && maySame(namespace, text(x.Tree, "metadata", "namespace")) {
					return x
				}
			}
		}
	}
	return nil
}

// pulled is a ConfigMap of an artifact.
func (h *Hub) pulled(from *Object, engine, name string) *Object {
	var owner *fleetstate.ID
	if owner = fluxOwner(from); owner == nil || from.Engine != engine {
		return nil
	}
	all := h.artifacts(from, *owner)
	if i := slices.IndexFunc(all, func(x *Object) bool { return x.Kind() == "ConfigMap" && x.Name() == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// maySame compares namespaces: where none is written, whoever applies the object says which.
func maySame(a, b string) bool { return a == "" || b == "" || a == b }

// namespace is the one that an object is written with.
func (o *Object) namespace() string { return text(o.Tree, "metadata", "namespace") }

// gitSource is where a GitRepository is read. Another path than the one that is named is not.
func gitSource(from *Object) source {
	return source{repoURL: text(from.Tree, "spec", "url"), revision: cmp.Or(reference(from.Tree), "master")} // Flux's default
}

// reference is the revision of a repository's object, whatever its kind is called.
func reference(from Tree) string {
	ref, _ := At(from, "spec", "ref").(Tree)
	name := text(ref, "name")
	for _, kind := range []string{"refs/heads/", "refs/tags/"} {
		name = strings.TrimPrefix(name, kind)
	}
	return cmp.Or(text(ref, "commit"), name, text(ref, "semver"), text(ref, "tag"), text(ref, "branch"))
}

// inRepository is a path as Flux takes it: from the root of its source, and not above.
func inRepository(p string) string { return cmp.Or(path.Clean("/" + p)[1:], ".") }

// kept reports whether an object says that kustomize-controller is not to remove it.
func kept(o *Object) bool {
	const prune = "kustomize.toolkit.fluxcd.io/prune"
	return text(o.Tree, "metadata", "annotations", prune) == "disabled" || o.Label(prune) == "disabled"
}

// stays reports whether an object that its parent makes no more is left where it is, by Flux.
func stays(o, parent *Object) bool {
	if parent == nil || parent.flux == nil || parent.flux.source.flux == nil {
		return false
	}
	prune, _ := At(parent.Tree, "spec", "prune").(bool)
	return !prune || kept(o)
}

// cascades reports whether what one of Flux's objects deploys goes with it. Of a component's, its Application is told to go, and
// how.
func (o *Object) cascades() bool {
	prune, _ := At(o.Tree, "spec", "prune").(bool)
	switch policy := text(o.Tree, "spec", "deletionPolicy"); {
	case o.flux.source.flux == nil, o.ofArtifact():
		return true
	case policy == "Delete", policy == "WaitForTermination":
		return true
	case policy == "Orphan":
		return false
	}
	return prune
}
