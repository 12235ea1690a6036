package flux

import (
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// ofBootstrap is how `flux bootstrap` names what a cluster begins with.
const ofBootstrap = "flux-system"

// Begins returns the folder that a file's Kustomization applies the file itself from, as `flux
// bootstrap` writes it: a cluster begins with it. Empty for another file.
func Begins(o *object.Object) string {
	dir := inRepository(manifest.Text(o.Tree, "spec", "path"))
	if !IsKustomization(o) || manifest.Text(o.Tree, "spec", "sourceRef", "kind") != "GitRepository" || dir == "." || !strings.HasPrefix(o.Pos.File, dir+"/") {
		return ""
	}
	return dir
}

// IsKustomization reports whether an object is a Kustomization of Flux.
func IsKustomization(o *object.Object) bool {
	return o.Is("kustomize.toolkit.fluxcd.io", "Kustomization")
}

// Bootstrap returns what `flux bootstrap` would write for a cluster that begins with a folder of
// the repository with a URL: a Kustomization and its source.
func Bootstrap(url, dir string) []*object.Object {
	metadata := manifest.Tree{"name": ofBootstrap, "namespace": ofBootstrap}
	made := func(group, kind string, spec manifest.Tree) *object.Object {
		tree := manifest.Tree{"apiVersion": group + ".toolkit.fluxcd.io/v1", "kind": kind, "metadata": metadata, "spec": spec}
		return &object.Object{Engine: dir, Tree: tree, Pos: problem.Pos{File: dir}}
	}
	return []*object.Object{
		made("kustomize", "Kustomization", manifest.Tree{"path": "./" + dir, "prune": true, "sourceRef": manifest.Tree{"kind": "GitRepository", "name": ofBootstrap}}),
		made("source", "GitRepository", manifest.Tree{"url": url, "ref": manifest.Tree{"branch": "HEAD"}}),
	}
}
