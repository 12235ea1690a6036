package flux

import (
	"cmp"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

const (
	// ofBootstrap is how `flux bootstrap` names a cluster's root Kustomization and its source.
	ofBootstrap   = "flux-system"
	gitRepository = "GitRepository"
)

// RootFolder returns the folder of a cluster's root Kustomization: the one that applies the folder
// of its own file, as `flux bootstrap` writes it. It is empty for any other object. What is named
// as `flux bootstrap` does may apply the whole repository.
func RootFolder(o *object.Object) string {
	dir := folderOf(o)
	if dir == "." && o.Name() == ofBootstrap && manifest.Text(o.Tree, "spec", "sourceRef", "name") == ofBootstrap || strings.HasPrefix(o.Pos.File, dir+"/") {
		return dir
	}
	return ""
}

// cluster returns the name of the cluster whose root Kustomization applies a folder.
func cluster(dir string) string {
	if dir == "." {
		return ofBootstrap
	}
	return dir
}

// folderOf returns the folder that a Kustomization applies from a GitRepository, "" for any other
// object.
func folderOf(o *object.Object) string {
	if !IsKustomization(o) || manifest.Text(o.Tree, "spec", "sourceRef", "kind") != gitRepository {
		return ""
	}
	return inRepository(manifest.Text(o.Tree, "spec", "path"))
}

// IsKustomization reports whether an object is a Kustomization of Flux.
func IsKustomization(o *object.Object) bool {
	return o.Is("kustomize.toolkit.fluxcd.io", "Kustomization")
}

// WithSource returns a root Kustomization, the other objects of its file, and the GitRepository
// that it names. If the GitRepository is not in the file, it gets the URL: another file may have
// it, or a FluxInstance may make it. All objects run on the cluster that is named like the folder.
func WithSource(root *object.Object, file []*object.Object, dir, url string) []*object.Object {
	name := manifest.Text(root.Tree, "spec", "sourceRef", "name")
	out := []*object.Object{root}
	hasSource := false
	for _, x := range file {
		x.Engine = cluster(dir)
		hasSource = hasSource || x.Kind() == gitRepository && x.Name() == name
		if x != root {
			out = append(out, x)
		}
	}
	if !hasSource {
		out = append(out, repository(url, name, cmp.Or(manifest.Text(root.Tree, "spec", "sourceRef", "namespace"), root.Namespace()), root.Engine))
	}
	return out
}

// Synced returns what a FluxInstance of the Flux Operator makes of its spec.sync: a cluster's root
// Kustomization and its source, whose address and revision it returns, too. The cluster is named
// like the folder. It returns nil for any other object.
func Synced(o *object.Object) (objects []*object.Object, dir, url, revision string) {
	sync, _ := manifest.At(o.Tree, "spec", "sync").(manifest.Tree)
	kind := manifest.Text(sync, "kind")
	if !o.Is(ofOperator, "FluxInstance") || kind != gitRepository && kind != "OCIRepository" {
		return nil, "", "", ""
	}
	dir, name := inRepository(manifest.Text(sync, "path")), cmp.Or(manifest.Text(sync, "name"), o.Namespace(), ofBootstrap)
	root := Bootstrap("", dir)[0]
	root.Pos = o.Pos
	root.Tree["metadata"] = manifest.Tree{"name": name, "namespace": cmp.Or(o.Namespace(), ofBootstrap)}
	root.Tree["spec"] = manifest.Tree{"path": "./" + dir, "prune": true, "sourceRef": manifest.Tree{"kind": kind, "name": name}}
	from := repository(manifest.Text(sync, "url"), name, root.Namespace(), root.Engine)
	from.Tree["kind"] = kind
	from.Tree["spec"] = manifest.Tree{"url": manifest.Text(sync, "url"), "ref": manifest.Tree{"name": manifest.Text(sync, "ref")}}
	s := gitSource(from)
	return []*object.Object{root, from}, dir, s.RepoURL, s.Revision
}

// Bootstrap returns what `flux bootstrap` would write for a cluster's folder in the repository with
// a URL: the root Kustomization and its GitRepository.
func Bootstrap(url, dir string) []*object.Object {
	root := &object.Object{Engine: cluster(dir), Pos: problem.Pos{File: dir}, Tree: manifest.Tree{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": manifest.Tree{"name": ofBootstrap, "namespace": ofBootstrap},
		"spec": manifest.Tree{"path": "./" + dir, "prune": true, "sourceRef": manifest.Tree{"kind": gitRepository, "name": ofBootstrap}},
	}}
	return []*object.Object{root, repository(url, ofBootstrap, ofBootstrap, root.Engine)}
}

// repository returns a GitRepository of a cluster.
func repository(url, name, namespace, engine string) *object.Object {
	return &object.Object{Engine: engine, Tree: manifest.Tree{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": gitRepository, "metadata": manifest.Tree{"name": name, "namespace": namespace},
		"spec": manifest.Tree{"url": url, "ref": manifest.Tree{"branch": "HEAD"}},
	}}
}

// Address returns URL and revision of the repository's own GitRepository: the one from which most
// Kustomizations apply folders that the repository has. It returns an empty URL without any.
func Address(objects []*object.Object, of *snapshot.Snapshot) (url, revision string) {
	count := map[string]int{}
	for _, o := range objects {
		if dir := folderOf(o); dir != "" && dir != "." && len(of.Under(dir)) > 0 {
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
