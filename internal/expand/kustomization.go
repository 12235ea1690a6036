package expand

import (
	"fmt"
	"path"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// built are the folders that a folder's kustomization is built of.
func (h *Hub) built(s source, f *folder) ([]*folder, error) {
	if len(s.kustomize) > 0 {
		return nil, NotFollowed{Text: fmt.Sprintf("what the Application has kustomize change in %s is not followed", f.dir)}
	}
	dirs, err := h.o.Tools.Kustomizations.Folders(h.kustomization(s, f))
	if err != nil {
		return nil, err
	}
	var out []*folder
	for _, dir := range dirs {
		out = append(out, h.folder(f.snap, dir))
	}
	return out, nil
}

// kustomization is a folder's, as a source has it built.
func (h *Hub) kustomization(s source, f *folder) Kustomization {
	k := Kustomization{Snapshot: f.snap, Dir: f.dir}
	if s.flux != nil {
		flux := *s.flux
		flux.SourceIgnore = h.sourceIgnore(f.snap)
		k.Flux = &flux
	}
	return k
}

// sourceIgnore are the files of a repository that say which of its files Flux's sources leave out.
func (h *Hub) sourceIgnore(s *snapshot.Snapshot) []*snapshot.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, known := h.ignoring[s]
	if !known {
		for _, p := range s.Paths() {
			if path.Base(p) == ".sourceignore" {
				all = append(all, s.File(p))
			}
		}
		h.ignoring[s] = all
	}
	return all
}

// kustomizedAt is what a kustomization of another repository makes, of which its bases may be anywhere.
func (h *Hub) kustomizedAt(p Place, s source) ([]Manifest, error) {
	snap, err := h.o.Tools.Elsewhere.At(Place{RepoURL: p.RepoURL, Revision: p.Revision, Path: "."})
	if err != nil {
		return nil, err
	}
	if _, err := h.built(s, h.folder(snap, p.Path)); err != nil {
		return nil, err
	}
	return h.o.Tools.Kustomizations.Build(h.kustomization(s, h.folder(snap, p.Path)))
}

// folders are those of this repository that a part is made of.
func (p part) folders() []*folder {
	switch {
	case p.built != nil:
		return p.built
	case p.folder != nil:
		return []*folder{p.folder}
	}
	return nil
}

// key is the same for what is built alike.
func (k Kustomization) key(of []*folder) string {
	parts := []any{"kustomize", k.Dir, digests(of)}
	if k.Flux != nil {
		parts = append(parts, k.Flux)
		for _, f := range k.Flux.SourceIgnore {
			parts = append(parts, f.Path, f.Digest)
		}
	}
	return digestOf(parts...)
}

// digests are those of folders, with their paths.
func digests(all []*folder) []string {
	var out []string
	for _, f := range all {
		out = append(out, f.dir, f.digest)
	}
	return out
}

// based are the folders that the kustomization in a folder is built of, as far as they can be told; none for another folder.
func (h *Hub) based(s *snapshot.Snapshot, dir string) []string {
	for _, name := range KustomizationFiles {
		if s.File(dir+"/"+name) != nil {
			dirs, _ := h.o.Tools.Kustomizations.Folders(Kustomization{Snapshot: s, Dir: dir}) // what fails is named where it is built
			return dirs
		}
	}
	return nil
}
