package expand

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// HasNoFleet reports whether Options say so.
func (h *Hub) HasNoFleet() bool { return h.o.HasNoFleet }

// Deployers counts the Applications, Kustomizations and HelmReleases that are followed.
func (h *Hub) Deployers() (n int) {
	h.Walk(false, func(o *object.Object) bool {
		if o.IsDeployer() && !isFolderRoot(o) {
			n++
		}
		return true
	})
	return n
}

// folderURL stands for the repository in what deploys a folder that is a root.
const folderURL = "https://repository.invalid"

// isFolderRoot reports whether an object is made for that.
func isFolderRoot(o *object.Object) bool {
	return o.Parent == nil && !o.Written() && o.Deploys() && slices.ContainsFunc(o.Sources(), func(s source.Source) bool { return s.RepoURL == folderURL })
}

// ownRoots returns the roots of a repository without a fleet, and learns its address: Applications
// and ApplicationSets in its files, and charts that make some, which no other Application deploys.
func (h *Hub) ownRoots() []*object.Object {
	h.urls[source.Address(folderURL)] = ""
	var all, named []*object.Object
	charts, kustomized := map[string]bool{}, map[string]bool{}
	for _, root := range h.o.Roots {
		if root = path.Clean(root); source.KustomizationOf(h.o.Snapshot, root) != nil {
			found, below := h.folderRoot(root)
			h.learnAddress(below)
			named, kustomized[root] = append(named, found...), true
		}
	}
	for _, f := range h.o.Snapshot.FilesUnder("") {
		if kustomized[path.Dir(f.Path)] {
			continue
		}
		if source.Transforms(f) && source.MakesApplications(h.o.Snapshot, source.Source{Path: path.Dir(f.Path)}) {
			kustomized[path.Dir(f.Path)] = false
		}
		if !source.MayMakeApplications(f) || !h.isNamed(f.Path) {
			continue
		}
		chart := source.TemplateOf(h.o.Snapshot, f)
		if source.MakesByDependency(f) {
			chart = path.Dir(f.Path)
		}
		if chart != "" {
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
	h.learnAddress(all)
	made, deployed := h.madeBy(all)
	if len(h.urls) == 1 {
		if h.learnAddress(made); len(h.urls) > 1 { // where the files' templates do not name it
			made, deployed = h.madeBy(all)
		}
	}
	roots := slices.DeleteFunc(all, func(o *object.Object) bool { return deployed(o) })
	for _, o := range made {
		for _, s := range o.Sources() {
			delete(charts, path.Clean(s.Path))
			kustomized[path.Clean(s.Path)] = true
		}
	}
	var rendered []*object.Object
	for _, chart := range slices.Sorted(maps.Keys(charts)) {
		root, below := h.folderRoot(chart)
		roots, rendered = append(roots, root...), append(rendered, below...)
	}
	h.learnAddress(rendered)
	if len(h.o.Roots) > 0 {
		return append(named, roots...)
	}
	maps.DeleteFunc(kustomized, func(_ string, isFollowed bool) bool { return isFollowed })
	return h.overlays(slices.Sorted(maps.Keys(kustomized)), roots)
}

// overlays takes kustomizations that change roots in the place of these, where there is one that
// alone deploys them, and makes nothing that is there already.
func (h *Hub) overlays(dirs []string, roots []*object.Object) []*object.Object {
	all, beside := source.OverlaysOf(h.o.Snapshot), source.Overlays{}
	if h.o.Beside != nil {
		beside = source.OverlaysOf(h.o.Beside)
	}
	for _, dir := range slices.Sorted(maps.Keys(beside)) {
		f := source.KustomizationOf(h.o.Snapshot, dir)
		if f == nil || all[dir] != nil {
			continue
		}
		_, err := yamldoc.ParseLenient(f.Path, f.Data, nil)
		if top := beside.Above(dir); err != nil && top != "" && source.MakesApplications(h.o.Beside, source.Source{Path: top}) {
			h.unread[top], h.unread[f.Path] = true, true
			h.reportUnread(problem.From(err, problem.InvalidYAML, problem.Pos{File: f.Path})[0])
			roots = slices.DeleteFunc(roots, func(o *object.Object) bool { return beside[top][o.Pos.File] })
		}
	}
	followed := map[string]bool{}
	for _, dir := range dirs {
		top := all.Above(dir)
		if beside[dir] != nil && beside.Above(dir) != top {
			top = ""
		}
		if top != "" && !followed[top] {
			root, below := h.folderRoot(top)
			others := slices.DeleteFunc(slices.Clone(roots), func(o *object.Object) bool { return all[top][o.Pos.File] })
			if root == nil { // which is reported: what it is made of says nothing without it
				roots = others
				continue
			}
			if followed[top] = !slices.ContainsFunc(others, func(o *object.Object) bool {
				return slices.ContainsFunc(below, func(x *object.Object) bool { return x.Kind() == o.Kind() && x.Name() == o.Name() })
			}); followed[top] {
				h.learnAddress(below)
				roots = slices.Concat(others, root)
			}
		}
		if !followed[top] {
			h.report(problem.Problem{
				Reason: problem.NotExpanded, Severity: problem.Warning, Pos: problem.Pos{File: source.KustomizationOf(h.o.Snapshot, dir).Path}, Subject: "the kustomization " + dir,
				Found: "changes Applications, which are followed without it", Hints: []string{"--root " + dir + " follows it"},
			})
		}
	}
	return roots
}

// madeBy returns the objects that candidates for roots are and make, and whether one of them is
// deployed by another: by an Application that reads the folder of its file, and makes its like.
func (h *Hub) madeBy(candidates []*object.Object) (made []*object.Object, deployed func(*object.Object) bool) {
	type like struct{ kind, name, dir string }
	all := map[like]bool{}
	deployed = func(o *object.Object) bool {
		for dir := path.Dir(o.Pos.File); ; dir = path.Dir(dir) {
			if isDeployed := all[like{o.Kind(), o.Name(), dir}]; isDeployed || dir == "." {
				return isDeployed
			}
		}
	}
	silent := &Hub{o: h.o, urls: h.urls, reported: map[string]bool{}} // its problems are left out
	for _, o := range candidates {
		if deployed(o) {
			continue
		}
		silent.roots = []*object.Object{o}
		silent.Walk(false, func(x *object.Object) bool {
			made = append(made, x)
			if p := x.Parent; p != nil && !p.IsSet() && (x.Kind() != o.Kind() || x.Name() != o.Name()) {
				for _, dir := range silent.foldersOf(p) {
					all[like{x.Kind(), x.Name(), dir}] = true
				}
			}
			return true
		})
	}
	return made, deployed
}

// foldersOf returns the folders that an Application reads.
func (h *Hub) foldersOf(o *object.Object) (out []string) {
	for _, p := range h.parts(o) {
		for _, f := range p.folders() {
			out = append(out, f.Dir)
		}
	}
	return out
}

// isNamed reports whether a file is at one of the paths of the roots. Without any, it is all files
// but those in a folder that render has written.
func (h *Hub) isNamed(file string) bool {
	if len(h.o.Roots) == 0 {
		dir := path.Dir(file)
		for dir != "." && h.o.Snapshot.File(path.Join(dir, disk.ListName)) == nil {
			dir = path.Dir(dir)
		}
		return dir == "."
	}
	return slices.ContainsFunc(h.o.Roots, func(root string) bool { return strings.HasPrefix(file+"/", path.Clean(root)+"/") || root == "." })
}

// folderRoot returns the root that deploys a chart or a kustomization, if it can be rendered, and
// what it makes.
func (h *Hub) folderRoot(dir string) (root, made []*object.Object) {
	o := &object.Object{Engine: ownerHub, Pos: problem.Pos{File: dir}, Tree: manifest.Tree{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": manifest.Tree{"name": strings.Trim(path.Base(dir), "."), "namespace": dir},
		"spec": manifest.Tree{"source": manifest.Tree{"repoURL": folderURL, "path": dir}, "destination": manifest.Tree{"server": inCluster}},
	}}
	p := &Hub{o: h.o, urls: h.urls, reported: map[string]bool{}}
	p.below(o, true, func(x *object.Object, _ func() *object.Object) bool { made = append(made, x); return true })
	if found := problem.Errors(p.Problems()); len(found) > 0 {
		h.reportUnread(found[0])
		return nil, nil
	}
	return []*object.Object{o}, made
}

// reportUnread reports a file or a folder that is not followed: all else is.
func (h *Hub) reportUnread(p problem.Problem) {
	h.unread[p.Pos.File] = true
	h.report(problem.Problem{Reason: problem.NotExpanded, Severity: problem.Warning, Pos: p.Pos, Found: "a file is not followed: " + p.Found})
}

// breaks makes errors of what is not followed here, and was before.
func (h *Hub) breaks(before *Hub) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, p := range h.problems {
		at, had := p.Pos.File, before.o.Snapshot
		if h.unread[at] && !before.unread[at] && (had.File(at) != nil || had.HasDir(at)) {
			h.problems[i].Severity = problem.Error
		}
	}
}

// learnAddress learns this repository's address, if it is not known yet.
func (h *Hub) learnAddress(objects []*object.Object) {
	if len(h.urls) > 1 {
		return
	}
	trees := make([]any, len(objects))
	for i, o := range objects {
		trees[i] = o.Tree
	}
	if url, revision, _ := source.AddressOf(h.o.Snapshot, trees); url != "" {
		h.urls[source.Address(url)] = revision
	}
}
