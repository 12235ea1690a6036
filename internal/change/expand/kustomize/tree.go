package kustomize

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// tree is what may be read for a kustomization: a snapshot, and for Flux the files that its source
// leaves out and the file that Flux writes.
type tree struct {
	*snapshot.Snapshot
	ignored func(p string) bool // nil ignores nothing
	written map[string][]byte
	charts  bool // kustomizations may have Helm charts
}

// data returns a file's text; ok is false if there is none.
func (t tree) data(p string) (data []byte, ok bool, err error) {
	if data, ok = t.written[p]; ok {
		return data, true, nil
	}
	f := t.File(p)
	if f == nil || t.isIgnored(p) {
		return nil, false, nil
	}
	return f.Data, true, f.Err
}

func (t tree) isIgnored(p string) bool { return t.ignored != nil && t.ignored(p) }

func (t tree) has(p string) bool {
	_, ok, _ := t.data(p)
	return ok
}

// fileOf returns the path of a folder's kustomization, empty if it has none.
func (t tree) fileOf(dir string) string {
	for _, name := range source.KustomizationFiles {
		if p := path.Join(dir, name); t.has(p) {
			return p
		}
	}
	return ""
}

// folders returns the folders from which a folder's kustomization is built, sorted.
func (t tree) folders(dir string) ([]string, error) {
	found := map[string]bool{}
	if err := t.visit(dir, found); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// visit adds a folder, and all folders from which it is built.
func (t tree) visit(dir string, found map[string]bool) error {
	if found[dir] {
		return nil // the library refuses circles
	}
	file, k, err := t.kustomization(dir)
	switch {
	case err != nil:
		return err
	case file == "":
		return fmt.Errorf("%s has no kustomization", dir)
	}
	found[dir] = true
	if what := beyond(k, t.charts); what != "" {
		return source.NotFollowed{Text: fmt.Sprintf("%s has %s, which are not followed", file, what)}
	}
	for _, name := range slices.Concat(k.Resources, k.Components) {
		p := path.Join(dir, name)
		switch {
		case isRemote(name, p):
			return source.NotFollowed{Text: fmt.Sprintf("%s names %q, which is elsewhere, and not followed", file, name)}
		case t.has(p):
			beside(dir, p, found)
		case !t.HasDir(p):
			return fmt.Errorf("%s names %q, which is not there", file, name)
		default:
			if err := t.visit(p, found); err != nil {
				return err
			}
		}
	}
	for _, name := range filesOf(k) {
		p := path.Join(dir, name)
		if isRemote(name, p) || !t.has(p) {
			return source.NotFollowed{Text: fmt.Sprintf("%s names %q, which is elsewhere or of a kind that is not read", file, name)}
		}
		beside(dir, p, found)
	}
	return nil
}

// beside adds the folder of a file that is not below the folder that names it. Flux reads the file
// there; Argo CD does not.
func beside(dir, p string, found map[string]bool) {
	if dir != "." && !strings.HasPrefix(p, dir+"/") {
		found[path.Dir(p)] = true
	}
}
