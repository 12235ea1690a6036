package mount

import (
	"fmt"
	"path"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Group is the group of the teams' applications. Mounts have files only of this group.
const Group = team.Workloads

// Table is what the fleet repository lets each mount write. It is immutable, and nil without
// mounts.
type Table struct {
	// Scopes has the scope of each mount of the layout, by path.
	Scopes []*Scope

	fleet     *fleet.Fleet
	teams     *team.Table
	apps      *team.Apps
	documents *hierarchy.Cache
	files     levelFiles
	folder    func(group, component string) string
	// components are the components of Group in the layout's catalogs.
	components []string
}

// Scope is what one mount may write.
type Scope struct {
	fleet.Mount
	// Problems are why the mount may write nothing.
	Problems []problem.Problem

	team  *team.Team // nil without a good one
	table *Table
}

// Bounds are the parts of the fleet repository that limit mounts.
type Bounds struct {
	Fleet     *fleet.Fleet
	Catalogs  map[string][]hierarchy.Layer // by group: the layout's
	Teams     *team.Table
	Apps      *team.Apps
	Documents *hierarchy.Cache
	// Folder is the folder of a component's value files.
	Folder func(group, component string) string
}

// NewTable computes the bounds of a fleet's mounts.
func NewTable(b Bounds) *Table {
	if len(b.Fleet.Layout.Mounts) == 0 {
		return nil
	}
	t := newTable(b)
	for _, m := range b.Fleet.Layout.Mounts {
		s := &Scope{Mount: m, table: t}
		s.findTeam(b.Teams)
		t.Scopes = append(t.Scopes, s)
	}
	return t
}

func newTable(b Bounds) *Table {
	return &Table{
		fleet: b.Fleet, teams: b.Teams, apps: b.Apps, documents: b.Documents, files: newLevelFiles(b.Fleet.Layout), folder: b.Folder,
		components: catalog.Layers(b.Catalogs[Group]).Components(),
	}
}

func (s *Scope) findTeam(teams *team.Table) {
	found := teams.Team(s.Team)
	p := problem.Problem{Reason: problem.InvalidLayout, Severity: problem.Error, Pos: s.Pos, Subject: fmt.Sprintf("mount %q", s.Path)}
	switch {
	case found == nil:
		p.Found, p.Expected = fmt.Sprintf("there is no team %q", s.Team), "a team file "+team.Folder+"/"+s.Team+".yaml, and the group "+team.Group+" in the layout"
	case found.IsBroken():
		p.Found, p.Expected, p.Related = fmt.Sprintf("the file of team %q has errors", s.Team), "a good one: it bounds the mount", []problem.Pos{found.Pos}
	default:
		s.team = found
		return
	}
	s.Problems = append(s.Problems, p)
}

// Of returns the mounts whose levels a member reads for a group.
func (t *Table) Of(m *fleet.Member, group string) (out []*Scope) {
	if t == nil || group != Group || m.IsHub {
		return nil
	}
	if m.Owner(group) == fleet.OwnerHub {
		if t.fleet.HubMember(m.Hub) == nil {
			return nil
		}
	} else if m.Engine != fleet.EngineFlux { // a member's Argo CD has no project of the team
		return nil
	}
	for _, s := range t.Scopes {
		if t.teams.Of(m).Has(s.team) {
			out = append(out, s)
		}
	}
	return out
}

// Owns reports whether a component is the mount's.
func (s *Scope) Owns(group, component string) bool {
	return group == Group && s.team != nil && s.table.apps.Team(component) == s.team
}

// Reads reports whether a component reads the values files of a level's folder. A mount's files are
// only for the components of its team, whatever path the layout gives other files.
func (t *Table) Reads(folder hierarchy.Folder, group, component string) bool {
	for _, s := range t.scopes() {
		if fleet.Overlap(folder.Path, s.Path) && !s.Owns(group, component) {
			return false
		}
	}
	return true
}

// ReadBy returns the folders that a component reads.
func (t *Table) ReadBy(folders []hierarchy.Folder, group, component string) []hierarchy.Folder {
	isForeign := func(f hierarchy.Folder) bool { return !t.Reads(f, group, component) }
	if !slices.ContainsFunc(folders, isForeign) {
		return folders
	}
	return slices.DeleteFunc(slices.Clone(folders), isForeign)
}

// Find returns the scope of a path, nil without one.
func (t *Table) Find(p string) *Scope {
	for _, s := range t.scopes() {
		if s.Path == path.Clean(p) {
			return s
		}
	}
	return nil
}

// Problems returns the problems of all mounts.
func (t *Table) Problems() (out []problem.Problem) {
	for _, s := range t.scopes() {
		out = append(out, s.Problems...)
	}
	return out
}

// Hidden returns the problems of files that the fleet repository has below the path of a mount.
func (t *Table) Hidden(main *snapshot.Snapshot) error {
	var out problem.List
	for _, s := range t.scopes() {
		if own := main.Under(s.Path); len(own) > 0 {
			out = append(out, problem.Problem{
				Reason: problem.InvalidLayout, Severity: problem.Error, Pos: s.Pos, Subject: fmt.Sprintf("mount %q", s.Path),
				Found: "the fleet repository has files below the path", Expected: "none: they would be hidden", Related: []problem.Pos{{File: own[0]}},
			})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Unread returns the problem of a mount that was not read.
func (s *Scope) Unread(severity problem.Severity, why, hint string) problem.Problem {
	p := problem.Problem{
		Reason: problem.MountNotRead, Severity: severity, Pos: s.Pos, Subject: fmt.Sprintf("mount %q", s.Path),
		Found: fmt.Sprintf("%s was not read", s.URL), Expected: "the files of team " + s.Team,
	}
	if why != "" {
		p.Found += ": " + why
	}
	if hint != "" {
		p.Hints = []string{hint}
	}
	return p
}

// Unknown returns a problem for each mount of a member's group that is not known: the member must
// not look as if it had no files there.
func (t *Table) Unknown(m *fleet.Member, group string, in *snapshot.Snapshot) (out []problem.Problem) {
	for _, s := range t.Of(m, group) {
		if p, ok := in.Part(s.Path); ok && p.Unknown {
			out = append(out, s.Unread(problem.Error, "", "the members of the team wait until the mount can be read"))
		}
	}
	return out
}

func (t *Table) scopes() []*Scope {
	if t == nil {
		return nil
	}
	return t.Scopes
}

// SameUnknown reports whether the same mounts of two snapshots are unknown.
func SameUnknown(a, b *snapshot.Snapshot) bool {
	unknown := func(s *snapshot.Snapshot) (out []string) {
		for _, p := range s.Parts() {
			if p.Unknown {
				out = append(out, p.Path)
			}
		}
		return out
	}
	return slices.Equal(unknown(a), unknown(b))
}

// AreDeclared reports whether a fleet repository has mounts. The fleet of another snapshot, which
// may be nil, saves reading the layout again.
func AreDeclared(main *snapshot.Snapshot, of *fleet.Fleet) (bool, error) {
	layout, err := fleet.ReadLayout(main, hierarchy.NewCache(), of)
	return err == nil && len(layout.Mounts) > 0, err
}
