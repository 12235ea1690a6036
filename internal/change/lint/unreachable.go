package lint

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// unreachable reports files below the groups' roots that no cluster and no component can ever
// reach.
func (l *linter) unreachable() {
	unknown := map[string]bool{}                                  // members that are not computed, and their tenants: their files are unknown
	environments, tenants := map[string]bool{}, map[string]bool{} // environments of such members, and all tenants
	roots, open := map[string]bool{}, map[string]int{}
	for name := range l.st.Fleet.Layout.Groups {
		open[name] = 0
	}
	if len(l.st.Resolver().Catalogs[provision.Group]) > 0 { // whose classes are known before a member names one
		delete(open, provision.Group)
	}
	for _, c := range l.st.Clusters() {
		c = c.Desired()
		if len(c.Groups) == 0 && c.Member.Tenant+c.Member.Environment == "" {
			return // its file cannot be read: it may be of any tenant
		}
		if len(c.Groups) == 0 {
			unknown[c.Member.Name], unknown[c.Member.Tenant], environments[c.Member.Environment] = true, true, true
		}
		tenants[c.Member.Tenant] = true
		if c.IsOverBudget {
			unknown[c.Member.Tenant] = true
		}
		for name, g := range c.Groups {
			roots[g.Root] = true
			if len(g.Components()) > 0 {
				delete(open, name)
			}
		}
	}
	var strays []string
	ofHubs := map[string][]string{} // files of hubs without a member file, by root
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		for _, p := range l.st.Resolver().Snapshot.Under(root) {
			parts := strings.Split(p, "/")
			ofUnknown := slices.ContainsFunc(parts, func(part string) bool { return unknown[part] }) ||
				slices.ContainsFunc(parts, func(part string) bool { return environments[part] }) && !slices.ContainsFunc(parts, func(part string) bool { return tenants[part] })
			group, isOpen := l.openGroup(p, open)
			switch {
			case l.reachable[p] || ofUnknown || isIgnored(l.st.Fleet.Layout, p):
			case isOpen:
				open[group]++
			case l.ofAbsentHub(root, p):
				ofHubs[root] = append(ofHubs[root], p)
			default:
				strays = append(strays, p)
			}
		}
	}
	if len(unknown) == 0 {
		l.openGroups(open)
	}
	l.absentHubs(ofHubs)
	beside := l.besideRoots(roots, unknown)
	if len(strays)+len(beside) == 0 {
		return
	}
	slices.Sort(strays)
	strays = slices.Compact(strays) // roots may be within each other
	hints := nearestPaths(slices.Concat(strays, beside), l.conceivable())
	for _, p := range beside {
		if len(hints[p]) > 0 {
			strays = append(strays, p)
		}
	}
	for _, f := range l.byFolder(strays, hints) {
		p := problem.Problem{
			Reason: problem.UnreachableFile, Severity: problem.Warning, Pos: problem.Pos{File: f.path},
			Found: "no cluster and no component reads this file", Hints: hints[f.path],
		}
		if f.files > 1 {
			p.Found = fmt.Sprintf("no cluster and no component reads the %d files of this folder", f.files)
		}
		l.problems = append(l.problems, p)
	}
}

// besideRoots returns unread files beside the folders of levels outside the groups' roots, such as
// fleet/registration/{{ .cluster }}. Other files may well be there.
func (l *linter) besideRoots(roots, unknown map[string]bool) (out []string) {
	parents := map[string]bool{}
	for folder := range l.folders {
		if parent := path.Dir(folder); parent != "." && !isBelow(folder, roots) {
			parents[parent] = true
		}
	}
	for _, parent := range slices.Sorted(maps.Keys(parents)) {
		for _, p := range l.st.Resolver().Snapshot.Under(parent) {
			if l.reachable[p] || isBelow(p, roots) || isIgnored(l.st.Fleet.Layout, p) {
				continue
			}
			if !slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return unknown[part] }) {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isBelow reports whether a path is in one of the folders.
func isBelow(p string, folders map[string]bool) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if folders[dir] {
			return true
		}
	}
	return false
}

// unread is a file that is never read, or a folder with only such files.
type unread struct {
	path  string
	files int
}

// byFolder groups unread files by folder, where a folder has no other files. A file with a hint is
// listed separately.
func (l *linter) byFolder(strays []string, hints map[string][]string) (out []unread) {
	alone := map[string]int{} // by folder: its unread files without a hint
	for _, p := range strays {
		if len(hints[p]) > 0 {
			continue
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			alone[dir]++
		}
	}
	done := ""
	for _, p := range strays {
		if done != "" && strings.HasPrefix(p, done) {
			continue
		}
		found := unread{p, 1}
		if len(hints[p]) == 0 {
			for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
				if n := alone[dir]; n > 1 && n == len(l.st.Resolver().Snapshot.Under(dir)) {
					found = unread{dir, n}
				}
			}
		}
		if found.files > 1 {
			done = found.path + "/"
		}
		out = append(out, found)
	}
	return out
}

// openGroups reports groups with files but without any known component. Lint cannot say which of
// the files are read.
func (l *linter) openGroups(open map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(open)) {
		files, pos := open[name], l.st.Fleet.Layout.Groups[name].Pos
		declared := pos.File == l.st.Fleet.Layout.File
		if !declared {
			pos = problem.Pos{}
		}
		found := "no component is known"
		switch {
		case files > 0:
			found += fmt.Sprintf(", so that lint cannot say which of its files are read (%d)", files)
		case !declared:
			continue
		}
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.NoEffect, Severity: problem.Warning, Pos: pos, Subject: fmt.Sprintf("group %q", name), Found: found,
			Expected: fmt.Sprintf("a catalog: groups.%s.catalog in the layout, or a catalog file at a level", name),
		})
	}
}

// ofAbsentHub reports whether a file is for hubs where the fleet has none, or for a hub without a
// member file.
func (l *linter) ofAbsentHub(root, p string) bool {
	layout := l.st.Fleet.Layout
	if !layout.OfHubsAlone(strings.TrimPrefix(p, root+"/")) {
		return false
	}
	none, absent := true, map[string]bool{}
	for _, hub := range l.st.Fleet.Hubs() {
		there := l.st.Fleet.HubMember(hub) != nil
		none, absent[hub] = none && !there, !there
	}
	return none || slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return absent[part] })
}

// absentHubs reports the files of hubs without a member file, once for each root.
func (l *linter) absentHubs(files map[string][]string) {
	for _, root := range slices.Sorted(maps.Keys(files)) {
		first, n := files[root][0], len(files[root])
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.UnreachableFile, Severity: problem.Warning, Pos: problem.Pos{File: first},
			Found:    fmt.Sprintf("no hub reads this file and %d more below %s: the hub has no member file", n-1, root),
			Expected: "a member file with fleet_member: hub-cluster",
		})
	}
}

// conceivable returns all paths that some cluster and component can reach, whether the file exists
// or not. A stray file may have been meant as one of them.
func (l *linter) conceivable() map[string]bool {
	out := maps.Clone(l.reachable)
	add := func(p string) { out[p], out[p+hierarchy.TemplateSuffix] = true, true }
	add(l.st.Fleet.Layout.ApplicationSets)
	add(l.st.Fleet.Layout.FleetSecrets)
	add(fleet.LayoutFile)
	for _, c := range l.st.Clusters() {
		c = c.Desired()
		for _, g := range c.Groups {
			l.reads(c, g, g.Folders, add)
		}
	}
	return out
}

// strayMembers reports files in the members folder that are not member files, such as prod.yml.
// Without it, a missing cluster goes unnoticed. Where the folder holds other files that are read,
// the rest is not judged.
func (l *linter) strayMembers() {
	members := l.st.Fleet.Layout.Members
	var stray []problem.Problem
	for _, p := range l.st.Resolver().Snapshot.Under(members.Folder()) {
		switch _, _, ok := members.Match(p); {
		case ok:
		case l.reachable[p]:
			return
		default:
			stray = append(stray, problem.Problem{
				Reason: problem.UnreachableFile, Severity: problem.Warning, Pos: problem.Pos{File: p},
				Found: "is in the members folder but is not a member file", Expected: members.String(),
			})
		}
	}
	l.problems = append(l.problems, stray...)
}

// strayLayouts reports files that were meant to be the layout, such as layout.yml. Without a
// layout, the defaults apply, and no rule for tenants.
func (l *linter) strayLayouts() {
	folder := path.Dir(fleet.LayoutFile)
	for _, p := range l.st.Resolver().Snapshot.Under(folder) {
		name, _, _ := strings.Cut(path.Base(p), ".")
		if p == fleet.LayoutFile || path.Dir(p) != folder || !strings.EqualFold(name, "layout") {
			continue
		}
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.UnreachableFile, Severity: problem.Warning, Pos: problem.Pos{File: p},
			Found: "is not read as the layout", Expected: fleet.LayoutFile,
		})
	}
}

// openGroup returns the group without known components whose values a file may be.
func (l *linter) openGroup(p string, open map[string]int) (group string, is bool) {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if !l.folders[dir] {
			continue
		}
		group, _, _ = strings.Cut(strings.TrimPrefix(p, dir+"/"), "/")
		if _, is = open[group]; is {
			return group, true
		}
	}
	return "", false
}

// gap is a path with one part taken out.
type gap struct{ before, after string }

// joined returns the path without the part.
func (g gap) joined() string { return strings.TrimPrefix(path.Join(g.before, g.after), "/") }

// gaps calls f for each part of a path.
func gaps(p string, f func(at gap, part string)) {
	for start := 0; start <= len(p); {
		end := len(p)
		if i := strings.IndexByte(p[start:], '/'); i >= 0 {
			end = start + i
		}
		f(gap{p[:start], p[end:]}, p[start:end])
		start = end + 1
	}
}

// nearestPaths suggests, for each stray path, a reachable path that differs in one part: another
// name, or a part too many or too few. It visits the many reachable paths only once.
func nearestPaths(strays []string, reachable map[string]bool) map[string][]string {
	candidates, longer := map[gap][]string{}, map[string]string{}
	for _, p := range strays {
		longer[p] = ""
		gaps(p, func(at gap, _ string) { candidates[at] = nil })
	}
	for r := range reachable {
		gaps(r, func(at gap, part string) {
			if known, wanted := candidates[at]; wanted {
				candidates[at] = append(known, part)
			}
			if first, is := longer[at.joined()]; is && (first == "" || r < first) {
				longer[at.joined()] = r
			}
		})
	}
	for _, parts := range candidates {
		slices.Sort(parts)
	}
	out := map[string][]string{}
	for _, p := range strays {
		gaps(p, func(at gap, part string) {
			if out[p] == nil {
				out[p] = problem.Nearest(part, candidates[at])
			}
		})
		gaps(p, func(at gap, _ string) {
			if out[p] == nil && reachable[at.joined()] {
				out[p] = didYouMean(at.joined())
			}
		})
		if out[p] == nil && longer[p] != "" {
			out[p] = didYouMean(longer[p])
		}
	}
	return out
}

func didYouMean(p string) []string { return []string{fmt.Sprintf("did you mean %q?", p)} }
