package expand

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// IsFound reports whether the repository has no fleet.
func (h *Hub) IsFound() bool { return h.o.IsFound }

// Applications counts the Applications that are followed.
func (h *Hub) Applications() (n int) {
	h.Walk(false, func(o *object.Object) bool {
		if o.Application() && !isFoundFolder(o) {
			n++
		}
		return true
	})
	return n
}

// foundURL stands for the repository in the Application of a folder that is a root.
const foundURL = "https://repository.invalid"

// isFoundFolder reports whether an object stands for a folder that is a root.
func isFoundFolder(o *object.Object) bool {
	return o.Parent == nil && manifest.Text(o.Tree, "spec", "source", "repoURL") == foundURL
}

// found returns the roots of a repository without a fleet, and learns its address: the Applications
// and ApplicationSets in its files, and charts that make some, that none of its own deploys.
func (h *Hub) found() []*object.Object {
	h.urls[source.Address(foundURL)] = ""
	var all, named []*object.Object
	charts, kustomized := map[string]bool{}, map[string]bool{}
	for _, root := range h.o.Roots {
		if root = path.Clean(root); source.KustomizationOf(h.o.Snapshot, root) != nil {
			named = append(named, h.foundFolder(root)...)
			kustomized[root] = true
		}
	}
	for _, f := range h.o.Snapshot.FilesUnder("") {
		if kustomized[path.Dir(f.Path)] {
			continue
		}
		if source.Transforms(f) && len(source.ApplicationFiles(h.o.Snapshot, path.Dir(f.Path))) > 0 {
			kustomized[path.Dir(f.Path)] = false
		}
		if !source.MayMakeApplications(f) || !h.isNamed(f.Path) {
			continue
		}
		if chart := source.TemplateOf(h.o.Snapshot, f); chart != "" {
			charts[chart] = true
			continue
		}
		if _, err := manifest.Objects(f); err != nil {
			h.reportUnread(problem.From(err, problem.InvalidYAML, problem.Pos{File: f.Path})[0])
			continue
		}
		objects, _ := h.writtenObjects(f, nil, ownerHub)
		for _, o := range objects {
			if o.Application() || o.ApplicationSet() && manifest.At(o.Tree, "spec", "generators") != nil {
				all = append(all, o)
			}
		}
	}
	h.adoptFound(all)
	deployed := map[string]bool{} // files, by the Applications of other files
	for _, o := range all {
		if !o.Application() || deployed[o.Pos.File] {
			continue
		}
		for _, s := range o.Sources() {
			if snap, _ := h.local(s); snap != nil {
				for _, file := range source.ApplicationFiles(snap, s.Path) {
					deployed[file] = deployed[file] || file != o.Pos.File
				}
			}
		}
	}
	roots := slices.DeleteFunc(slices.Clone(all), func(o *object.Object) bool { return deployed[o.Pos.File] })
	if len(roots) == len(all) && len(charts)+len(kustomized) == 0 && len(h.urls) > 1 {
		return append(named, roots...)
	}
	reached := map[object.Key]bool{}
	var made []*object.Object
	(&Hub{o: h.o, roots: roots, urls: h.urls, reported: map[string]bool{}}).Walk(false, func(o *object.Object) bool {
		reached[o.Key()], made = true, append(made, o)
		for _, s := range o.Sources() {
			delete(charts, path.Clean(s.Path))
			kustomized[path.Clean(s.Path)] = true
		}
		return true
	})
	if len(h.urls) == 1 { // templates name the repository
		h.adoptFound(made)
	}
	for _, o := range all {
		if !reached[o.Key()] { // what deploys its file is not followed
			roots = append(roots, o)
		}
	}
	for _, chart := range slices.Sorted(maps.Keys(charts)) {
		roots = append(roots, h.foundFolder(chart)...)
	}
	for _, dir := range slices.Sorted(maps.Keys(kustomized)) {
		if !kustomized[dir] && len(h.o.Roots) == 0 {
			h.report(problem.Problem{
				Reason: problem.NotExpanded, Severity: problem.Warning, Pos: problem.Pos{File: source.KustomizationOf(h.o.Snapshot, dir).Path}, Subject: "the kustomization " + dir,
				Found: "changes Applications, which are followed without it", Hints: []string{"--root " + dir + " follows it"},
			})
		}
	}
	return append(named, roots...)
}

// isNamed reports whether a file is at one of the paths of the roots, if there are any.
func (h *Hub) isNamed(file string) bool {
	return len(h.o.Roots) == 0 || slices.ContainsFunc(h.o.Roots, func(root string) bool { return strings.HasPrefix(file+"/", path.Clean(root)+"/") || root == "." })
}

// foundFolder returns the root that deploys a chart or a kustomization, if it can be rendered.
func (h *Hub) foundFolder(dir string) []*object.Object {
	o := &object.Object{Engine: ownerHub, Pos: problem.Pos{File: dir}, Tree: manifest.Tree{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": manifest.Tree{"name": strings.Trim(path.Base(dir), ".")},
		"spec": manifest.Tree{"source": manifest.Tree{"repoURL": foundURL, "path": dir}, "destination": manifest.Tree{"server": inCluster}},
	}}
	p := &Hub{o: h.o, urls: h.urls, reported: map[string]bool{}}
	var made []*object.Object
	p.below(o, true, func(x *object.Object, _ func() *object.Object) bool { made = append(made, x); return true })
	if found := problem.Errors(p.Problems()); len(found) > 0 {
		h.reportUnread(found[0])
		return nil
	}
	h.adoptFound(made)
	return []*object.Object{o}
}

// reportUnread reports a file that is not followed: all else is.
func (h *Hub) reportUnread(p problem.Problem) {
	h.report(problem.Problem{Reason: problem.NotExpanded, Severity: problem.Warning, Pos: p.Pos, Subject: p.Pos.String(), Found: "a file is not followed: " + p.Found})
}

// adoptFound learns this repository's address.
func (h *Hub) adoptFound(objects []*object.Object) {
	trees := make([]any, len(objects))
	for i, o := range objects {
		trees[i] = o.Tree
	}
	if url, revision, _ := source.AddressOf(h.o.Snapshot, trees); url != "" {
		h.urls[source.Address(url)] = revision
	}
}
