package mount

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Reach decides whether only a team's own components could ever read a file of the fleet
// repository. It looks at paths and contents, not at what a change does today: a cluster may read a
// file later, or with other facts.
type Reach struct {
	scope  *Scope
	places []place
}

// place is where members read a group's files.
type place struct {
	group string
	files levelFiles
}

// NewReach returns the reach of a team by the fleet repository before the change. It fails without
// a valid team file.
func NewReach(b Bounds, name string) (*Reach, error) {
	s := &Scope{Mount: fleet.Mount{Team: name}, table: newTable(b)}
	if s.team = b.Teams.Team(name); s.team == nil || s.team.IsBroken() {
		return nil, fmt.Errorf("the base has no good file of team %s", name)
	}
	s.Pos = s.team.Pos
	r := &Reach{scope: s}
	names, spokes := b.Fleet.Layout.SampleFolders()
	for _, group := range b.Fleet.Layout.GroupNames() {
		for _, root := range rootsOf(b.Fleet, group) {
			files := emptyLevelFiles(b.Fleet.Layout)
			for i, dir := range slices.Concat(spokes, b.Fleet.Layout.SampleHubFolders()) {
				level := "of hubs"
				if i < len(names) {
					level = names[i]
				}
				files.add(level, strings.Split(strings.ReplaceAll(strings.Join(dir, "/"), "<root>", root), "/"))
			}
			r.places = append(r.places, place{group, files})
		}
	}
	return r, nil
}

// rootsOf returns the root folders that any member has for a group.
func rootsOf(f *fleet.Fleet, group string) []string {
	out := []string{f.Layout.Groups[group].Root}
	for _, hub := range f.Hubs() {
		for _, m := range f.Members(hub) {
			if root := f.Root(m, group); !slices.Contains(out, root) {
				out = append(out, root)
			}
		}
	}
	return out
}

// Beyond returns why the change of a file is not within the reach. Before is nil for a new file,
// after for a removed one.
func (r *Reach) Beyond(path string, before, after *snapshot.File) []problem.Problem {
	rd := reader{Scope: r.scope, layout: r.scope.table.fleet.Layout}
	read := r.readBy(path)
	if len(read) == 0 || !isPlain(path) || r.scope.table.files.isFleetsOwn(path) {
		rd.add(problem.Pos{File: path}, "", "is not a level's file that only the team's applications read", "")
		return rd.problems
	}
	for _, of := range read {
		rd.place(problem.Pos{File: path}, of)
	}
	for _, f := range []*snapshot.File{before, after} {
		if f != nil && f.Err != nil {
			rd.problems = append(rd.problems, problem.From(f.Err, problem.MountBounds, problem.Pos{File: path})...)
		}
	}
	if len(rd.problems) > 0 {
		return slices.CompactFunc(rd.problems, func(a, b problem.Problem) bool { return a.Error() == b.Error() })
	}
	isCatalog := slices.ContainsFunc(read, func(of levelFile) bool { return of.isCatalog })
	switch {
	case hierarchy.IsTemplate(path) && (after != nil || isCatalog):
		rd.add(problem.Pos{File: path}, "", "is a template: what it makes, and whether it works, depends on facts", "")
	case isCatalog:
		rd.changedEntries(read, rd.root(before), rd.root(after))
	default:
		rd.root(after)
	}
	return rd.problems
}

// readBy returns every level and group by which a path may be read.
func (r *Reach) readBy(path string) (out []levelFile) {
	for _, p := range r.places {
		for _, of := range p.files.of(path) {
			if of.namesGroup && of.group != p.group {
				continue
			}
			of.group = p.group
			out = append(out, of)
		}
	}
	return out
}

// Touches reports whether a path is in the folder of a level, or above one.
func (r *Reach) Touches(path string) bool {
	return slices.ContainsFunc(r.places, func(p place) bool { return p.files.touches(path) })
}

// root returns the content of a plain file; nil where there is none, or with a problem.
func (r *reader) root(f *snapshot.File) *yamldoc.Node {
	if f == nil {
		return nil
	}
	doc, err := r.table.documents.Doc(f)
	if err != nil {
		r.problems = append(r.problems, problem.From(err, problem.InvalidYAML, problem.Pos{File: f.Path})...)
		return nil
	}
	return doc.Root
}

// changedEntries checks the entries that differ between two contents of a catalog. Unchanged
// entries may belong to other teams.
func (r *reader) changedEntries(of []levelFile, before, after *yamldoc.Node) {
	if len(r.problems) > 0 {
		return
	}
	was, is := catalog.Entries(before), catalog.Entries(after)
	if is == nil && !after.IsNull() && !after.Get(catalog.ComponentsKey).IsNull() {
		r.add(after.Pos(), "a catalog", "is a "+after.Kind.String(), "a map of components")
		return
	}
	if !same(beside(before, was), beside(after, is)) {
		r.add(problem.Pos{File: after.Pos().File}, "a catalog", "changes beside its "+catalog.ComponentsKey, "")
	}
	seen := map[string]bool{}
	for _, f := range slices.Concat(is.Fields(), was.Fields()) {
		if seen[f.Key] || same(was.Get(f.Key), is.Get(f.Key)) {
			continue
		}
		seen[f.Key] = true
		subject := fmt.Sprintf("component %q of group %q", f.Key, Group)
		n := is.Get(f.Key)
		switch {
		case !r.Owns(Group, f.Key):
			r.add(f.Value.Pos(), subject, "is not of team "+r.Team, "")
		case n == nil: // the team's own entry is removed
		case !n.IsMap():
			r.add(n.Pos(), subject, "is a "+n.Kind.String(), "a map")
		case hasTemplate(n):
			r.add(n.Pos(), subject, "has a template: what it makes, and whether it works, depends on facts", "")
		default:
			r.entry(subject, n)
			on, isTruth := n.Get(catalog.KeyEnabled).Truth()
			if isElsewhere := func(of levelFile) bool { return !r.team.IsOnAll(of.tenant) && of.cluster == "" }; (on || !isTruth) && n.Get(catalog.KeyEnabled) != nil && slices.ContainsFunc(of, isElsewhere) {
				r.add(n.Get(catalog.KeyEnabled).Pos(), subject, "is switched on where other clusters than the team's may be", "")
			}
		}
	}
}

// beside returns what a catalog has beside its entries; nil for nothing.
func beside(root, entries *yamldoc.Node) *yamldoc.Node {
	if root == nil || root == entries {
		return nil
	}
	fields := slices.DeleteFunc(slices.Clone(root.Fields()), func(f yamldoc.Field) bool { return f.Key == catalog.ComponentsKey })
	if len(fields) == 0 {
		return nil
	}
	return yamldoc.MapAt(root, fields)
}

// same reports whether two values are equal and written alike: a name may look like a number.
func same(a, b *yamldoc.Node) bool {
	return hierarchy.Equal(a, b) && reflect.DeepEqual(a.AnyAsWritten(), b.AnyAsWritten())
}

func hasTemplate(n *yamldoc.Node) bool {
	text, err := n.YAML()
	return err != nil || bytes.Contains(text, []byte("{{"))
}

// Waits returns why a change of a file takes effect later, by another person's decision: a draining
// cluster reads it, or no cluster does yet. It is empty for a change that takes effect at once. The
// members come with the folders that their components of Group read.
func (r *Reach) Waits(path string, members func(yield func(*fleet.Member, []hierarchy.Folder) bool)) string {
	read, waits := false, ""
	for m, folders := range members {
		if !r.scope.table.teams.Of(m).Has(r.scope.team) || !slices.ContainsFunc(folders, func(f hierarchy.Folder) bool { return strings.HasPrefix(path, f.Path+"/") }) {
			continue
		}
		if m.Lifecycle == fleet.Active {
			read = true
		} else {
			waits = fmt.Sprintf("cluster %s, which is %s, does not take it", m.Name, m.Lifecycle)
		}
	}
	if waits == "" && !read {
		waits = "no cluster of team " + r.scope.Team + " reads it yet"
	}
	return waits
}
