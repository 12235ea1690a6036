package expand

import (
	"fmt"
	"path"

	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// sourceFiles are the files in a folder that change the source of Applications that deploy it: of all of them, and of the one of
// that name. Argo CD's image updater writes them.
func sourceFiles(o *Object) []string {
	if !o.Application() {
		return nil
	}
	return []string{".argocd-source.yaml", ".argocd-source-" + o.Name() + ".yaml"}
}

// overridden is a source with what its folder's files make of it: its options alone.
//
// Source: argo-cd v2.14 and v3.2, reposerver/repository/repository.go, mergeSourceParameters.
func overridden(o *Object, s source, f *folder) (source, error) {
	out := s
	for _, name := range sourceFiles(o) {
		file := f.snap.File(path.Join(f.dir, name))
		if file == nil {
			continue
		}
		if file.Err != nil {
			return s, file.Err
		}
		doc, err := yamldoc.Parse(file.Path, file.Data)
		if err != nil {
			return s, err
		}
		patch, ok := doc.Root.Any().(Tree)
		if !ok {
			return s, fmt.Errorf("%s is no map; expected options of a source", file.Path)
		}
		out = s.with(patched(out.tree, plain(patch), false))
	}
	return out, nil
}

// with is a source with the options of another one.
func (s source) with(tree Tree) source {
	out := sourceOf(tree, s.several, s.at)
	out.repoURL, out.revision, out.path, out.chart, out.ref = s.repoURL, s.revision, s.path, s.chart, s.ref
	return out
}

// patched is a tree with a merge patch (RFC 7386), as Argo CD has it: it decodes the result over the source as it was, so that what
// is taken away stays, but in values, which are replaced.
func patched(tree, patch Tree, takes bool) Tree {
	out := copyOf(tree)
	for key, v := range patch {
		switch v := v.(type) {
		case nil:
			if takes {
				delete(out, key)
			}
		case Tree:
			out[key] = patched(copyOf(out[key]), v, takes || key == "valuesObject")
		default:
			out[key] = v
		}
	}
	return out
}
