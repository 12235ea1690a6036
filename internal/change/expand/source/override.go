package source

import (
	"fmt"
	"path"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// OverrideFiles returns the names of the files in a folder that change the source of an
// Application. The first applies to all Applications, the second to the named one. Argo CD's image
// updater writes them.
func OverrideFiles(application string) []string {
	return []string{".argocd-source.yaml", ".argocd-source-" + application + ".yaml"}
}

// Override applies the OverrideFiles of a folder to a source. They change only its options.
//
// Source: argo-cd v2.14 and v3.2, reposerver/repository/repository.go, mergeSourceParameters.
func Override(application string, s Source, f *Folder) (Source, error) {
	out := s
	for _, name := range OverrideFiles(application) {
		file := f.Snapshot.File(path.Join(f.Dir, name))
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
		patch, ok := doc.Root.Any().(manifest.Tree)
		if !ok {
			return s, fmt.Errorf("%s is not a map; expected options of a source", file.Path)
		}
		out = s.with(patched(out.tree, manifest.Plain(patch), false))
	}
	return out, nil
}

// with returns a source with the options of another tree.
func (s Source) with(tree manifest.Tree) Source {
	out := sourceOf(tree, s.several, s.Field)
	out.RepoURL, out.Revision, out.Path, out.Chart, out.Ref = s.RepoURL, s.Revision, s.Path, s.Chart, s.Ref
	return out
}

// patched applies a merge patch (RFC 7386) as Argo CD does, which decodes the result over the
// unpatched source. So a null removes nothing, except in values, which are replaced.
func patched(tree, patch manifest.Tree, takes bool) manifest.Tree {
	out := manifest.Copy(tree)
	for key, v := range patch {
		switch v := v.(type) {
		case nil:
			if takes {
				delete(out, key)
			}
		case manifest.Tree:
			out[key] = patched(manifest.Copy(out[key]), v, takes || key == "valuesObject")
		default:
			out[key] = v
		}
	}
	return out
}
