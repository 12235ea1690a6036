package memo

import (
	"cmp"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

type mapKey struct {
	mapper *catalog.Mapper
	root   *yamldoc.Node
}

type mappedCatalog struct {
	root     *yamldoc.Node
	problems []problem.Problem
}

// Mapped is what a layout's mapping makes of the catalogs of its groups.
type Mapped struct {
	// mappers, by group, are those of the layout's catalogs, and at last that of levels' catalogs.
	mappers map[string][]*catalog.Mapper
	folders map[string]map[string]string
}

// Folder is the name of the folder of a component's value files.
func (m *Mapped) Folder(group, component string) string {
	return cmp.Or(m.folders[group][component], component)
}

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

// MapCatalogs makes Argosy's format of the layout's catalogs, by group, in place. Equal mappers of
// the previous snapshot, which may be nil, are one pointer: the memo knows their catalogs again.
func (m *Memo) MapCatalogs(layout *fleet.Layout, previous *Mapped, catalogs map[string][]hierarchy.Layer) (*Mapped, []problem.Problem) {
	out := &Mapped{mappers: map[string][]*catalog.Mapper{}, folders: map[string]map[string]string{}}
	var problems []problem.Problem
	for _, group := range layout.GroupNames() {
		if layout.Mapping != nil {
			var known []*catalog.Mapper
			if previous != nil {
				known = previous.mappers[group]
			}
			mappers, faults := m.mapGroup(layout.Mapping, known, catalogs[group])
			out.mappers[group], problems = mappers, append(problems, faults...)
		}
		for _, l := range catalogs[group] {
			if p, is := hierarchy.NotMap(l); is {
				problems = append(problems, p)
			}
			problems = append(problems, catalog.Misspelt(l.Root)...)
		}
		folders, faults := catalog.Folders(catalogs[group])
		out.folders[group], problems = folders, append(problems, faults...)
	}
	return out, problems
}

func (m *Memo) mapGroup(mapping *catalog.Mapping, previous []*catalog.Mapper, catalogs []hierarchy.Layer) (mappers []*catalog.Mapper, problems []problem.Problem) {
	roots := make([]*yamldoc.Node, len(catalogs))
	for i, l := range catalogs {
		roots[i] = l.Root
	}
	for i := range len(roots) + 1 {
		mapper := &catalog.Mapper{Mapping: mapping, Below: roots[:i], Level: i == len(roots)}
		if i < len(previous) && previous[i].Mapping == mapping && previous[i].Level == mapper.Level && slices.Equal(previous[i].Below, mapper.Below) {
			mapper = previous[i]
		}
		mappers = append(mappers, mapper)
	}
	for i := range catalogs {
		problems = append(problems, m.mapCatalog(mappers[i], &catalogs[i])...)
	}
	return mappers, problems
}

// MapLevels makes Argosy's format of a group's catalogs of levels, in place.
func (m *Memo) MapLevels(mapped *Mapped, group string, catalogs []hierarchy.Layer) (problems []problem.Problem) {
	mappers := mapped.mappers[group]
	if len(mappers) == 0 {
		return nil
	}
	for i := range catalogs {
		problems = append(problems, m.mapCatalog(mappers[len(mappers)-1], &catalogs[i])...)
	}
	return problems
}

// LevelMapper makes Argosy's format of one catalog of a level.
func (m *Memo) LevelMapper(mapped *Mapped) func(group string, root *yamldoc.Node) (*yamldoc.Node, []problem.Problem) {
	return func(group string, root *yamldoc.Node) (*yamldoc.Node, []problem.Problem) {
		layers := []hierarchy.Layer{{Root: root}}
		problems := m.MapLevels(mapped, group, layers)
		return layers[0].Root, problems
	}
}

func (m *Memo) mapCatalog(mapper *catalog.Mapper, l *hierarchy.Layer) []problem.Problem {
	if l.Root == nil {
		return nil
	}
	out, _ := Remember(&m.mu, m.mapped, mapKey{mapper, l.Root}, func() (mappedCatalog, error) {
		m.hold(l.Root)
		mapped, problems := mapper.Map(l.Root)
		m.spend(costNode + mapped.Memory())
		return mappedCatalog{mapped, problems}, nil
	})
	l.Root = out.root
	return out.problems
}
