package expand

import (
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// built returns the folders from which a folder's kustomization is built.
func (h *Hub) built(s source.Source, f *source.Folder) ([]*source.Folder, error) {
	dirs, err := h.o.Tools.Kustomizations.Folders(h.kustomization(s, f))
	if err != nil {
		return nil, err
	}
	var out []*source.Folder
	for _, dir := range dirs {
		out = append(out, h.folders.Folder(f.Snapshot, dir))
	}
	return out, nil
}

// kustomization returns a folder's kustomization as a source builds it.
func (h *Hub) kustomization(s source.Source, f *source.Folder) source.Kustomization {
	k := source.Kustomization{Snapshot: f.Snapshot, Dir: f.Dir, Options: s.Kustomize}
	if s.Flux != nil {
		flux := *s.Flux
		flux.SourceIgnore = h.folders.SourceIgnore(f.Snapshot)
		if h.o.HasNoFleet { // what stands for one
			flux.Without = []string{"/" + fleet.LayoutFile, "/fleet/fleet-members/"}
		}
		k.Flux = &flux
	}
	return k
}

// remoteKustomization builds a kustomization of a remote repository. Its bases may be anywhere in
// that repository.
func (h *Hub) remoteKustomization(p source.Place, s source.Source) ([]manifest.Manifest, error) {
	snap, err := h.o.Tools.Remote.At(source.Place{RepoURL: p.RepoURL, Revision: p.Revision, Path: "."})
	if err != nil {
		return nil, err
	}
	if _, err := h.built(s, h.folders.Folder(snap, p.Path)); err != nil {
		return nil, err
	}
	return h.build(h.kustomization(s, h.folders.Folder(snap, p.Path)))
}

// folders returns the folders of this repository that make up a part.
func (p part) folders() []*source.Folder {
	switch {
	case p.built != nil:
		return p.built
	case p.folder != nil:
		return []*source.Folder{p.folder}
	}
	return nil
}

// based returns the folders from which a folder's kustomization is built, as far as they are known.
// It returns none for other folders.
func (h *Hub) based(s *snapshot.Snapshot, dir string) []string {
	if source.KustomizationOf(s, dir) == nil {
		return nil
	}
	dirs, _ := h.o.Tools.Kustomizations.Folders(source.Kustomization{Snapshot: s, Dir: dir}) // building it reports errors
	return dirs
}
