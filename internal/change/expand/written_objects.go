package expand

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// writtenObjects returns the objects in a file. Without ok it cannot be read, which is reported.
func (h *Hub) writtenObjects(f *snapshot.File, parent *object.Object, engine string) (out []*object.Object, ok bool) {
	docs, err := manifest.Objects(f)
	if err != nil {
		for _, p := range problem.From(err, problem.InvalidYAML, problem.Pos{File: f.Path}) {
			h.report(p)
		}
		return nil, false
	}
	for _, doc := range docs {
		roots := []*yamldoc.Node{doc.Root}
		if list := doc.Root.Get("items"); list != nil && (list.Kind == yamldoc.List || list.IsNull()) {
			roots = list.Items()
		}
		for _, root := range roots {
			if tree, ok := root.Any().(manifest.Tree); ok {
				out = append(out, &object.Object{Engine: engine, Tree: manifest.Plain(tree), Parent: parent, Pos: doc.Pos(root), Document: &yamldoc.Doc{File: doc.File, Root: root}})
			}
		}
	}
	return out, true
}

// manifestsIn returns the objects in the manifests of a folder. Without ok Argo CD fails on the
// folder, which is reported.
func (h *Hub) manifestsIn(f *source.Folder, o *object.Object, d source.Directory) (out []*object.Object, ok bool) {
	files, jsonnet := d.Files(f)
	if len(jsonnet) > 0 {
		h.reportAt(o, problem.Pos{File: jsonnet[0].Path}, problem.Warning, source.JsonnetNotFollowed(jsonnet))
	}
	ok = true
	for _, file := range files {
		objects, read := h.writtenObjects(file, o, h.runsOn(o))
		out, ok = append(out, objects...), ok && read
	}
	return out, ok
}
