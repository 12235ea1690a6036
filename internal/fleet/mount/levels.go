package mount

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Levels adds the levels of the mounts that a member reads, each after the same level of a group's
// root. Facts returns a root's facts. A level of the fleet repository that leads into a mount is an
// error: members of all teams would read it.
func (t *Table) Levels(m *fleet.Member, group string, dirs []hierarchy.Dir, facts func(root string) map[string]any) ([]hierarchy.Dir, error) {
	if t == nil {
		return dirs, nil
	}
	for _, d := range dirs {
		for _, s := range t.Scopes {
			if fleet.Overlap(d.Path, s.Path) {
				return dirs, problem.Problem{
					Reason: problem.ForbiddenFolder, Severity: problem.Error, Pos: m.Pos, Subject: fmt.Sprintf("level %q of group %q", d.Level, group),
					Found: fmt.Sprintf("its folder %s overlaps with mount %q", d.Path, s.Path), Expected: "a folder of the fleet repository", Related: []problem.Pos{s.Pos},
				}
			}
		}
	}
	scopes := t.Of(m, group)
	if len(scopes) == 0 {
		return dirs, nil
	}
	var out []hierarchy.Dir
	byLevel := map[string][]hierarchy.Dir{}
	for _, s := range scopes {
		own, err := t.fleet.Layout.LevelsOf(m).Dirs(facts(s.Path), m.Absent()...)
		if err != nil {
			return dirs, err
		}
		for _, d := range own {
			if d.Path != s.Path && fleet.Overlap(d.Path, s.Path) { // else it is not below the group's root
				byLevel[d.Level] = append(byLevel[d.Level], hierarchy.Dir{Level: fleet.MountLevel(s.Path, d.Level), Path: d.Path})
			}
		}
	}
	for _, d := range dirs {
		out = slices.Concat(out, []hierarchy.Dir{d}, byLevel[d.Level])
	}
	return out, nil
}
