package flux

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// ofFlux reports whether an object is one of Flux's.
func ofFlux(o *object.Object) bool {
	group, _, _ := strings.Cut(o.APIVersion(), "/")
	return strings.HasSuffix(group, ".toolkit.fluxcd.io") || group == ofOperator
}

// Linker finds what Flux's objects deploy. Renders means that remote charts are rendered; Artifact
// returns the objects of an engine's artifact. Resumes follows suspended objects, too. IsOwn
// reports whether an address is this repository's. Warn is called with what is not followed.
type Linker struct {
	IsOwn    func(url string) bool
	Warn     func(o *object.Object, found string)
	Renders  bool
	Resumes  bool
	Artifact func(*object.Object, fleetstate.ID) []*object.Object
}

// Link sets what Flux's objects deploy, for objects that came together. Suspended objects deploy
// nothing.
func (l Linker) Link(objects []*object.Object) []*object.Object {
	if !slices.ContainsFunc(objects, ofFlux) {
		return objects
	}
	objects = l.withResources(objects)
	all := object.Siblings{}
	for _, o := range objects {
		key := [2]string{o.Kind(), o.Name()}
		all[key] = append(all[key], o)
		o.Siblings = all
	}
	for _, o := range objects {
		if suspended, _ := manifest.At(o.Tree, "spec", "suspend").(bool); suspended && !l.Resumes {
			continue
		}
		var s source.Source
		switch {
		case o.Is("helm.toolkit.fluxcd.io", "HelmRelease"):
			s = l.helmRelease(o)
		case o.Is("kustomize.toolkit.fluxcd.io", "Kustomization"):
			var applies bool
			if s, applies = l.fluxKustomization(o); !applies {
				continue
			}
		default:
			continue
		}
		o.Flux = &object.Deployed{Source: s}
		o.Entry = object.Entry{Cluster: o.Label("argosy.dev/cluster"), Group: o.Label("argosy.dev/group"), Component: o.Label("argosy.dev/component")}
		if to := manifest.At(o.Tree, "spec", "kubeConfig"); to != nil {
			o.Flux.Cluster = cmp.Or(o.Entry.Cluster, "kubeconfig "+manifest.Text(to, "secretRef", "name"))
		}
	}
	return objects
}

// refers returns the object that one of Flux's objects names, or nil if no followed object makes
// it.
func (l Linker) refers(o *object.Object, kind, namespace, name string) *object.Object {
	for from := o; from != nil; from = from.Parent {
		for _, x := range from.Siblings[[2]string{kind, name}] {
			if x.Engine == o.Engine && maySame(namespace, manifest.Text(x.Tree, "metadata", "namespace")) {
				return x
			}
		}
		if kind != "ConfigMap" {
			continue
		}
		for key, all := range from.Siblings { // an artifact brings the cluster's facts
			if key[0] != "OCIRepository" {
				continue
			}
			for _, pulled := range all {
				if x := l.pulled(pulled, o.Engine, name); x != nil && maySame(namespace, manifest.Text(x.Tree, "metadata", "namespace")) {
					return x
				}
			}
		}
	}
	return nil
}

// pulled returns a ConfigMap of an artifact, or nil.
func (l Linker) pulled(from *object.Object, engine, name string) *object.Object {
	var owner *fleetstate.ID
	if owner = ArtifactOwner(from); owner == nil || from.Engine != engine {
		return nil
	}
	all := l.Artifact(from, *owner)
	if i := slices.IndexFunc(all, func(x *object.Object) bool { return x.Kind() == "ConfigMap" && x.Name() == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// maySame compares namespaces. Where the manifest has none, the engine that applies the object sets
// it.
func maySame(a, b string) bool { return a == "" || b == "" || a == b }

// gitSource returns the source that a GitRepository reads, without a path. An OCIRepository has
// what is pushed from its repository: its tags are no revisions there.
func gitSource(from *object.Object) source.Source {
	revision := "HEAD"
	if from.Kind() == gitRepository {
		revision = cmp.Or(reference(from.Tree), "master") // Flux's default
	}
	return source.Source{RepoURL: manifest.Text(from.Tree, "spec", "url"), Revision: revision}
}

// reference returns the revision in the spec.ref of a source of any kind.
func reference(from manifest.Tree) string {
	ref, _ := manifest.At(from, "spec", "ref").(manifest.Tree)
	name := manifest.Text(ref, "name")
	for _, kind := range []string{"refs/heads/", "refs/tags/"} {
		name = strings.TrimPrefix(name, kind)
	}
	return cmp.Or(manifest.Text(ref, "commit"), name, manifest.Text(ref, "semver"), manifest.Text(ref, "tag"), manifest.Text(ref, "branch"))
}

// inRepository cleans a path as Flux does: relative to the root of its source, and never above it.
func inRepository(p string) string { return cmp.Or(path.Clean("/" + p)[1:], ".") }

// kept reports whether an object forbids kustomize-controller to prune it.
func kept(o *object.Object) bool {
	const prune = "kustomize.toolkit.fluxcd.io/prune"
	return manifest.Text(o.Tree, "metadata", "annotations", prune) == "disabled" || o.Label(prune) == "disabled"
}

// Stays reports whether Flux leaves an object in place that its parent no longer makes.
func Stays(o, parent *object.Object) bool {
	if parent == nil || parent.Flux == nil || parent.Flux.Source.Flux == nil {
		return false
	}
	prune, _ := manifest.At(parent.Tree, "spec", "prune").(bool)
	return !prune || kept(o)
}

// Cascades reports whether the deployed objects are removed with one of Flux's objects. For objects
// of an artifact, the component's parameter set decides.
func Cascades(o *object.Object) bool {
	prune, _ := manifest.At(o.Tree, "spec", "prune").(bool)
	switch policy := manifest.Text(o.Tree, "spec", "deletionPolicy"); {
	case o.Flux.Source.Flux == nil, OfArtifact(o):
		return true
	case policy == "Delete", policy == "WaitForTermination":
		return true
	case policy == "Orphan":
		return false
	}
	return prune
}

// ArtifactOwner returns the engine whose artifact an object pulls; nil for all other objects.
func ArtifactOwner(o *object.Object) *fleetstate.ID {
	if !o.Is("source.toolkit.fluxcd.io", "OCIRepository") {
		return nil
	}
	_, name, ok := strings.Cut(manifest.Text(o.Tree, "spec", "url"), "/flux/")
	hub, owner, found := strings.Cut(name, "/")
	if !ok || !found || strings.Contains(owner, "/") {
		return nil
	}
	return &fleetstate.ID{Hub: hub, Name: owner}
}

// OfArtifact reports whether an object comes from an artifact.
func OfArtifact(o *object.Object) bool { return o.Parent != nil && ArtifactOwner(o.Parent) != nil }
