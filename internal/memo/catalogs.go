package memo

import (
	"cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// ReadCatalogs reads the files that a layout names as groups' catalogs, by group, the later wins.
func ReadCatalogs(layout *fleet.Layout, s *snapshot.Snapshot, documents *hierarchy.Cache) (map[string][]hierarchy.Layer, []problem.Problem) {
	out := map[string][]hierarchy.Layer{}
	var problems []problem.Problem
	for _, name := range layout.GroupNames() {
		group := layout.Groups[name]
		for _, path := range group.Catalogs {
			file := s.File(path)
			if file == nil {
				problems = append(problems, problem.Problem{
					Reason: problem.MissingFile, Severity: problem.Error, Pos: group.Pos, Subject: "catalog of group " + name,
					Found: "no file " + path, Expected: "a catalog, as the layout says",
				})
				continue
			}
			doc, err := documents.Doc(file)
			if err != nil {
				problems = append(problems, problem.From(err, problem.InvalidYAML, problem.Pos{File: path})...)
				continue
			}
			out[name] = append(out[name], hierarchy.Layer{Level: catalog.Level, Path: path, Root: doc.Root})
		}
	}
	return out, problems
}

// Folders are the folders of value files that the layout's catalogs name, by group and component.
type Folders map[string]map[string]string

// Of returns the folder of a component's value files.
func (f Folders) Of(group, component string) string { return cmp.Or(f[group][component], component) }

// CheckCatalogs returns the folders that the layout's catalogs name, and what is wrong with these
// catalogs.
func CheckCatalogs(layout *fleet.Layout, catalogs map[string][]hierarchy.Layer) (Folders, []problem.Problem) {
	out := Folders{}
	var problems []problem.Problem
	for _, group := range layout.GroupNames() {
		for _, l := range catalogs[group] {
			if p, is := hierarchy.NotMap(l); is {
				problems = append(problems, p)
			}
			problems = append(problems, catalog.Misspelt(l.Root)...)
		}
		folders, faults := catalog.Folders(catalogs[group])
		out[group], problems = folders, append(problems, faults...)
	}
	return out, problems
}
