package expand

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// built are the folders that a folder's kustomization is built of.
func (h *Hub) built(s source.Source, f *source.Folder) ([]*source.Folder, error) {
	if len(s.Kustomize) > 0 {
		return nil, source.NotFollowed{Text: fmt.Sprintf("what the Application has kustomize change in %s is not followed", f.Dir)}
	}
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

// kustomization is the one of a folder, as a source builds it.
func (h *Hub) kustomization(s source.Source, f *source.Folder) source.Kustomization {
	k := source.Kustomization{Snapshot: f.Snapshot, Dir: f.Dir}
	if s.Flux != nil {
		flux := *s.Flux
		flux.SourceIgnore = h.folders.SourceIgnore(f.Snapshot)
		k.Flux = &flux
	}
	return k
}

// remoteKustomization builds a kustomization of a remote repository, whose bases may be anywhere
// in it.
func (h *Hub) remoteKustomization(p source.Place, s source.Source) ([]manifest.Manifest, error) {
	snap, err := h.o.Tools.Remote.At(source.Place{RepoURL: p.RepoURL, Revision: p.Revision, Path: "."})
	if err != nil {
		return nil, err
	}
	if _, err := h.built(s, h.folders.Folder(snap, p.Path)); err != nil {
		return nil, err
	}
	return h.o.Tools.Kustomizations.Build(h.kustomization(s, h.folders.Folder(snap, p.Path)))
}

// folders are the folders of this repository that a part is made of.
func (p part) folders() []*source.Folder {
	switch {
	case p.built != nil:
		return p.built
	case p.folder != nil:
		return []*source.Folder{p.folder}
	}
	return nil
}

// based are the folders that the kustomization in a folder is built of, as far as they are known;
// none for other folders.
func (h *Hub) based(s *snapshot.Snapshot, dir string) []string {
	for _, name := range source.KustomizationFiles {
		if s.File(dir+"/"+name) != nil {
			dirs, _ := h.o.Tools.Kustomizations.Folders(source.Kustomization{Snapshot: s, Dir: dir}) // what fails is named where it is built
			return dirs
		}
	}
	return nil
}
