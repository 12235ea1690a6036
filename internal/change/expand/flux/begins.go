package flux

import (
	"cmp"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// ofBootstrap is how `flux bootstrap` names what a cluster begins with.
const ofBootstrap = "flux-system"

// Begins returns the folder that a file's Kustomization applies the file itself from, as `flux
// bootstrap` writes it: a cluster begins with it. Empty for another file.
func Begins(o *object.Object) string {
	dir := inRepository(manifest.Text(o.Tree, "spec", "path"))
	if !IsKustomization(o) || manifest.Text(o.Tree, "spec", "sourceRef", "kind") != gitRepository || dir == "." || !strings.HasPrefix(o.Pos.File, dir+"/") {
		return ""
	}
	return dir
}

// Begin returns a Kustomization that a cluster begins with, and the objects of its file, as those
// of the cluster that is named like the folder. The source that it names is among them: where
// another file or FluxInstance has it, it is the repository with a URL.
func Begin(objects []*object.Object, o *object.Object, dir, url string) []*object.Object {
	name := manifest.Text(o.Tree, "spec", "sourceRef", "name")
	out := []*object.Object{o}
	hasSource := false
	for _, x := range objects {
		x.Engine = dir
		hasSource = hasSource || x.Kind() == gitRepository && x.Name() == name
		if x != o {
			out = append(out, x)
		}
	}
	if !hasSource {
		out = append(out, repository(url, name, cmp.Or(manifest.Text(o.Tree, "spec", "sourceRef", "namespace"), o.Namespace()), dir))
	}
	return out
}

// Address returns the URL and the revision of the GitRepository by which most Kustomizations name a
// folder of a repository; empty for none.
func Address(objects []*object.Object, of *snapshot.Snapshot) (url, revision string) {
	count := map[string]int{}
	for _, o := range objects {
		dir := inRepository(manifest.Text(o.Tree, "spec", "path"))
		if IsKustomization(o) && manifest.Text(o.Tree, "spec", "sourceRef", "kind") == gitRepository && dir != "." && len(of.Under(dir)) > 0 {
			count[manifest.Text(o.Tree, "spec", "sourceRef", "name")]++
		}
	}
	most := 0
	for _, o := range objects {
		if n := count[o.Name()]; o.Kind() == gitRepository && n > most {
			s := gitSource(o)
			most, url, revision = n, s.RepoURL, s.Revision
		}
	}
	return url, revision
}

const gitRepository = "GitRepository"

// repository returns a GitRepository of a cluster.
func repository(url, name, namespace, engine string) *object.Object {
	return &object.Object{Engine: engine, Tree: manifest.Tree{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": gitRepository, "metadata": manifest.Tree{"name": name, "namespace": namespace},
		"spec": manifest.Tree{"url": url, "ref": manifest.Tree{"branch": "HEAD"}},
	}}
}

// IsKustomization reports whether an object is a Kustomization of Flux.
func IsKustomization(o *object.Object) bool {
	return o.Is("kustomize.toolkit.fluxcd.io", "Kustomization")
}

// Bootstrap returns what `flux bootstrap` would write for a cluster that begins with a folder of
// the repository with a URL: a Kustomization and its source.
func Bootstrap(url, dir string) []*object.Object {
	o := &object.Object{Engine: dir, Pos: problem.Pos{File: dir}, Tree: manifest.Tree{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": manifest.Tree{"name": ofBootstrap, "namespace": ofBootstrap},
		"spec": manifest.Tree{"path": "./" + dir, "prune": true, "sourceRef": manifest.Tree{"kind": gitRepository, "name": ofBootstrap}},
	}}
	return []*object.Object{o, repository(url, ofBootstrap, ofBootstrap, dir)}
}
