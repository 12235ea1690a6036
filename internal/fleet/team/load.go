package team

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Previous has an earlier table, and a fleet with its members. Both may be nil. Served returns the
// member from when its file could last be read; nil if it never could.
type Previous struct {
	Fleet  *fleet.Fleet
	Table  *Table
	Served func(*fleet.Member) *fleet.Member
}

// Served returns a member as an earlier snapshot has it; nil where it has none.
func Served(s *snapshot.Snapshot, m *fleet.Member) *fleet.Member {
	if s == nil {
		return nil
	}
	f, err := fleet.Load(s, hierarchy.NewCache(), nil)
	if err != nil {
		return nil
	}
	return f.Member(m.Hub, m.Name)
}

// Load reads the team files of a snapshot; it returns nil without the group or without files. It
// reuses what did not change since the previous table. Catalogs are the group's.
func Load(s *snapshot.Snapshot, documents *hierarchy.Cache, f *fleet.Fleet, catalogs []hierarchy.Layer, previous Previous) (*Table, error) {
	if _, ok := f.Layout.Groups[Group]; !ok {
		return nil, nil
	}
	if folder := s.BrokenFolder(Folder); folder != nil { // its teams would look as if they had been removed
		return nil, problem.List(problem.From(folder.Err, problem.LimitExceeded, problem.Pos{File: folder.Path}))
	}
	var files []*snapshot.File
	for _, file := range s.EntriesUnder(Folder) {
		if _, ok := Name(file.Path); ok {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	if err := missingEntries(f.Layout, catalogs); err != nil {
		return nil, err
	}
	known := map[string]*Team{}
	if previous.Table != nil && previous.Fleet.Layout == f.Layout {
		for _, t := range previous.Table.Teams {
			known[t.Pos.File+" "+t.Digest] = t
		}
	}
	teams, isSame := make([]*Team, len(files)), len(known) == len(files)
	for i, file := range files { // in order of their paths, and so of the teams' names
		if teams[i] = known[file.Path+" "+file.Digest]; teams[i] == nil {
			doc, err := documents.Doc(file)
			teams[i], isSame = Parse(file, doc, err), false
		}
	}
	if isSame && previous.Fleet.HasMembersOf(f) {
		return previous.Table, nil
	}
	return Compute(f, teams, previous.Served), nil
}

// missingEntries reports the entries that every team needs, where no catalog has them.
func missingEntries(layout *fleet.Layout, catalogs []hierarchy.Layer) error {
	var out problem.List
	for _, entry := range []string{MemberEntry, HubEntry} {
		if !slices.ContainsFunc(catalogs, func(l hierarchy.Layer) bool { return catalog.Entries(l.Root).Get(entry) != nil }) {
			out = append(out, problem.Problem{
				Reason: problem.IncompleteCatalog, Severity: problem.Error, Pos: layout.Groups[Group].Pos, Subject: "group " + Group,
				Found: fmt.Sprintf("has team files, and no catalog with the entry %q", entry), Expected: "catalog: charts/application-sets/catalogs/teams.yaml, or one with this entry",
			})
		}
	}
	if len(out) > 0 {
		return out
	}
	return nil
}
