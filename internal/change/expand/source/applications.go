package source

import (
	"bytes"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// applicationKind matches a file that may have an Application or an ApplicationSet.
var applicationKind = regexp.MustCompile(`(?m)^\s*(?:-\s+)?["']?kind["']?\s*:\s*["']?Application(?:Set)?["']?\s*(?:#.*|,\s*)?$`)

// MayMakeApplications reports whether a file has Applications or ApplicationSets, also as a chart's
// template.
func MayMakeApplications(f *snapshot.File) bool {
	return f != nil && manifest.IsFile(f.Path) && bytes.Contains(f.Data, []byte("argoproj.io/")) && applicationKind.Match(f.Data)
}

// ApplicationFiles returns the files with Applications or ApplicationSets that a folder or a file
// deploys, with those of the folders that its kustomizations name.
func ApplicationFiles(snap *snapshot.Snapshot, dir string) []string {
	seen, out := map[string]bool{}, map[string]bool{}
	applicationFiles(snap, path.Clean(dir), seen, out)
	return slices.Sorted(maps.Keys(out))
}

func applicationFiles(snap *snapshot.Snapshot, dir string, seen, out map[string]bool) {
	if seen[dir] {
		return
	}
	seen[dir] = true
	for _, f := range append([]*snapshot.File{snap.File(dir)}, snap.FilesUnder(strings.TrimPrefix(dir, "."))...) {
		if MayMakeApplications(f) {
			out[f.Path] = true
		}
		if f != nil {
			for _, below := range Resources(f) {
				applicationFiles(snap, below, seen, out)
			}
		}
	}
}

// Resources returns the files and folders that a kustomization names; nil for another file.
func Resources(f *snapshot.File) (out []string) {
	if !slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, path.Base(f.Path)) {
		return nil
	}
	doc, err := yamldoc.ParseLenient(f.Path, f.Data, nil)
	if err != nil {
		return nil
	}
	t, _ := doc.Root.Any().(manifest.Tree)
	for _, key := range []string{"resources", "bases", "components"} {
		for _, r := range manifest.Strings(t[key]) {
			out = append(out, path.Join(path.Dir(f.Path), r))
		}
	}
	return out
}

// IsTemplate reports whether Helm renders a file.
func IsTemplate(snap *snapshot.Snapshot, f *snapshot.File) bool {
	for dir := path.Dir(f.Path); dir != path.Dir(dir); dir = path.Dir(dir) {
		if path.Base(dir) == "templates" && snap.File(path.Join(path.Dir(dir), "Chart.yaml")) != nil {
			return bytes.Contains(f.Data, []byte("{{"))
		}
	}
	return false
}
