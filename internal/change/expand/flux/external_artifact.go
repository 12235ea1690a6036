package flux

import (
	"cmp"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// copied returns the source from which an ArtifactGenerator copies an ExternalArtifact, and where a
// folder of the artifact is in the source. It returns nil unless all is copied from one folder of
// one source, with the paths that it has there: then the artifact is a part of that folder.
// (source-watcher v2: copies of @alias/FOLDER/** to @artifact/FOLDER/.)
func (l Linker) copied(o *object.Object, artifact, folder string) (from *object.Object, in string) {
	for above := o; above != nil; above = above.Parent {
		for key, all := range above.Siblings {
			if key[0] != "ArtifactGenerator" {
				continue
			}
			for _, g := range all {
				artifacts, _ := manifest.At(g.Tree, "spec", "artifacts").([]any)
				for _, a := range artifacts {
					if manifest.Text(a, "name") == artifact && g.Engine == o.Engine && maySame(o.Namespace(), g.Namespace()) {
						return l.copiedBy(g, a, folder)
					}
				}
			}
		}
	}
	return nil, ""
}

func (l Linker) copiedBy(g *object.Object, artifact any, folder string) (from *object.Object, in string) {
	alias, base := "", ""
	copies, _ := manifest.At(artifact, "copy").([]any)
	for i, c := range copies {
		of, is := strings.CutSuffix(manifest.Text(c, "from"), "/**")
		name, dir, _ := strings.Cut(of, "/")
		to := strings.Trim(strings.TrimPrefix(manifest.Text(c, "to"), "@artifact"), "/")
		root, below := strings.CutSuffix("/"+dir, path.Join("/", to))
		if !is || !below && to != "" || manifest.At(c, "exclude") != nil || manifest.Text(c, "strategy") != "" || i > 0 && (name != alias || root != base) {
			return nil, ""
		}
		alias, base = name, root
	}
	sources, _ := manifest.At(g.Tree, "spec", "sources").([]any)
	for _, s := range sources {
		if alias != "" && "@"+manifest.Text(s, "alias") == alias {
			return l.refers(g, manifest.Text(s, "kind"), cmp.Or(manifest.Text(s, "namespace"), g.Namespace()), manifest.Text(s, "name")), path.Join(base, folder)
		}
	}
	return nil, ""
}
