package flux

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// besideIt is the hint for an object that Flux names and that is not found.
const besideIt = "what comes with it is found, or with what makes it"

// fluxKustomization returns the folder that a Kustomization of Flux applies. False means that it
// applies an artifact of the service, whose objects are followed already.
func (l Linker) fluxKustomization(o *object.Object) (s source.Source, applies bool) {
	spec, _ := o.Tree["spec"].(manifest.Tree)
	kind, name := manifest.Text(spec, "sourceRef", "kind"), manifest.Text(spec, "sourceRef", "name")
	folder := manifest.Text(spec, "path")
	from := l.refers(o, kind, cmp.Or(manifest.Text(spec, "sourceRef", "namespace"), o.Namespace()), name)
	if kind == "ExternalArtifact" {
		from, folder = l.copied(o, name, folder)
	}
	notFollowed := func(why, hint string) (source.Source, bool) {
		return source.Source{Err: source.NotFollowed{Text: "what it applies is not followed: " + why, Hint: hint}}, true
	}
	switch {
	case from == nil && kind == "ExternalArtifact":
		return notFollowed(fmt.Sprintf("it is in ExternalArtifact %q", name), "one is that copies folders of a GitRepository with the paths that they have there")
	case from == nil:
		return notFollowed(fmt.Sprintf("nothing that is makes %s %q", kind, name), besideIt)
	case ArtifactOwner(from) != nil:
		return source.Source{}, false
	case from.Kind() != gitRepository && (from.Kind() != "OCIRepository" || !l.IsOwn(manifest.Text(from.Tree, "spec", "url"))):
		return notFollowed(fmt.Sprintf("it is in %s %q", kind, name), "a GitRepository is")
	case manifest.At(from.Tree, "spec", "include") != nil, manifest.At(from.Tree, "spec", "sparseCheckout") != nil:
		return notFollowed(fmt.Sprintf("GitRepository %q has spec.include or spec.sparseCheckout", from.Name()), "")
	}
	s = gitSource(from)
	s.Path, s.Explicit = inRepository(folder), []string{source.KindKustomize}
	s.Flux = &source.Flux{Spec: buildSpec(spec), Ignore: manifest.Text(from.Tree, "spec", "ignore")}
	s.Flux.Variables, s.Flux.Unknown = l.variables(o)
	return s, true
}

// buildSpec returns a Kustomization's spec without the fields that do not change the build, such as
// schedule and permissions.
func buildSpec(spec manifest.Tree) manifest.Tree {
	out := manifest.Tree{}
	for _, key := range []string{
		"targetNamespace", "namePrefix", "nameSuffix", "patches", "images", "components", "ignoreMissingComponents", "buildMetadata", "commonMetadata", "decryption", "postBuild", "ignore",
	} {
		if v := spec[key]; v != nil {
			out[key] = v
		}
	}
	return out
}

// variables returns the variables of a Kustomization's spec.postBuild.substituteFrom; later ones
// win. unknown names an object that this repository does not make: its variables, and the earlier
// ones that it may override, are unknown.
func (l Linker) variables(o *object.Object) (known map[string]string, unknown string) {
	from, _ := manifest.At(o.Tree, "spec", "postBuild", "substituteFrom").([]any)
	known = map[string]string{}
	for _, f := range from {
		x := l.refers(o, manifest.Text(f, "kind"), o.Namespace(), manifest.Text(f, "name"))
		if x == nil || x.Kind() != "ConfigMap" {
			clear(known)
			unknown = fmt.Sprintf("%s %q", manifest.Text(f, "kind"), manifest.Text(f, "name"))
			continue
		}
		maps.Copy(known, manifest.Texts(manifest.At(x.Tree, "data")))
	}
	return known, unknown
}
