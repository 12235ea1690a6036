package lint

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/secretscan"
)

// Run returns every finding about a state's snapshot, errors and warnings, in order of position:
// those of the state, and those that do not change a response but are most likely not meant.
func Run(st *fleetstate.State) []problem.Problem {
	l := linter{st: st, reachable: map[string]bool{}, folders: map[string]bool{}, names: map[nameKey]namedBy{}, trees: map[*hierarchy.Tree]bool{}}
	l.problems = slices.Concat(st.Problems, st.Fleet.Problems, st.Fleet.ApprovalProblems)
	for _, hub := range st.Fleet.Hubs() {
		for _, m := range st.Fleet.Members(hub) {
			l.member(m)
		}
	}
	l.reach(st.Fleet.Layout.ApplicationSets)
	l.reach(st.Fleet.Layout.FleetSecrets)
	l.reach(fleet.LayoutFile)
	for _, p := range st.Resolver().Snapshot.Under(st.Fleet.Layout.Guard.Approvals) {
		l.reach(p)
	}
	for _, c := range st.Resolver().Catalogs {
		l.reach(c.Path)
	}
	l.tenants()
	l.mergeRules()
	l.strayMembers()
	l.unreachable()
	l.documents()
	l.plaintext()
	return problem.OnePerPlace(problem.Sorted(l.problems))
}

type linter struct {
	st        *fleetstate.State
	reachable map[string]bool // files that some cluster and component can reach, of those that are there
	folders   map[string]bool // folders of levels, true if one is there
	names     map[nameKey]namedBy
	problems  []problem.Problem
	trees     map[*hierarchy.Tree]bool // those whose conflicts are among the problems
}

// maxReleaseName is the limit of a Helm release's name (helm v3, pkg/chartutil/validate_name.go).
const maxReleaseName = 53

// deployable reports names that Helm or Kubernetes refuses: nothing says so before the Application
// is synchronized.
func (l *linter) deployable(component string, r fleetstate.Component) {
	fault := func(key, found, expected string) {
		pos := r.EntryTree.Root.Pos()
		if n := r.EntryTree.At([]string{key}); n != nil {
			pos = n.Pos()
		}
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.InvalidValue, Severity: problem.Warning, Pos: pos, Subject: fmt.Sprintf("%s of component %q", key, component),
			Found: fmt.Sprintf("%q", found), Expected: expected,
		})
	}
	if len(r.ReleaseName) > maxReleaseName || len(validation.IsDNS1123Subdomain(r.ReleaseName)) > 0 {
		fault(catalog.KeyReleaseName, r.ReleaseName, fmt.Sprintf("a DNS-1123 name of at most %d characters", maxReleaseName))
	}
	if r.Namespace != "" && !labels.IsName(r.Namespace) {
		fault(catalog.KeyNamespace, r.Namespace, "a DNS-1123 label")
	}
}

// reach notes a file that can be reached, and its template, as far as they are there: of most
// clusters most are not.
func (l *linter) reach(p string) {
	for _, p := range [...]string{p, p + hierarchy.TemplateSuffix} {
		if l.st.Resolver().Snapshot.File(p) != nil {
			l.reachable[p] = true
		}
	}
}

// member collects what a member reaches, and the conflicts of its trees.
func (l *linter) member(m *fleet.Member) {
	l.reachable[m.Pos.File] = true
	c := l.st.ClusterOf(m).Desired()
	l.problems = append(l.problems, m.Problems...)
	l.flags(c)
	l.ownNames(c)
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		g := c.Groups[name]
		l.reads(c, g, l.there(g.Folders), l.reach)
		if name == fleetstate.FleetGroup {
			l.problems = append(l.problems, c.Registration.ConflictsBut(l.trees)...)
		}
		for _, component := range componentsOf(g) {
			if r, problems := l.st.Resolver().Resolve(c, g, component, nil); len(problems) == 0 && len(c.Broken) == 0 {
				l.problems = append(l.problems, r.Values.ConflictsBut(l.trees)...)
				if r.Enabled && m.Lifecycle != fleet.Retired {
					l.component(m, name, component)
					l.deployable(component, r)
					l.dependencies(c, component, r)
					l.listed(c, g, component, r)
				}
			}
		}
		for _, layer := range g.Catalogs {
			if layer.Level != catalog.Level {
				l.problems = append(l.problems, catalog.Problems(layer.Root)...)
			}
		}
	}
}

// listed reports a component that no catalog has, where Argo CD deploys: there is no ApplicationSet
// for it.
func (l *linter) listed(c *fleetstate.Cluster, g *fleetstate.Group, component string, r fleetstate.Component) {
	if !g.HasCatalog() || g.InCatalog(component) || component == fleetstate.Registration || l.st.Resolver().IsDeployedByFlux(c, g.Name) {
		return
	}
	l.problems = append(l.problems, problem.Problem{
		Reason: problem.NoEffect, Severity: problem.Warning, Pos: r.EntryTree.Root.Pos(), Subject: fmt.Sprintf("component %q of group %q", component, g.Name),
		Found: "has no effect: the group's catalog lacks it, so that Argo CD has no ApplicationSet for it", Expected: "an entry in " + g.Catalogs[0].Path,
		Hub: c.Member.Hub, Cluster: c.Member.Name,
	})
}

// componentsOf are a group's, with the one of no catalog that registers clusters.
func componentsOf(g *fleetstate.Group) []string {
	components := g.Components()
	if g.Name == fleetstate.FleetGroup {
		components = append(components, fleetstate.Registration)
	}
	return components
}

// there are the folders that hold anything.
func (l *linter) there(folders []hierarchy.Folder) (out []hierarchy.Folder) {
	for _, d := range folders {
		there, known := l.folders[d.Path]
		if !known {
			there = l.st.Resolver().Snapshot.HasDir(d.Path)
			l.folders[d.Path] = there
		}
		if there {
			out = append(out, d)
		}
	}
	return out
}

// reads calls f for each file that a cluster's group has or could have in some of its folders, but
// for its suffix.
func (l *linter) reads(c *fleetstate.Cluster, g *fleetstate.Group, in []hierarchy.Folder, f func(p string)) {
	named := func(t *fleet.FileTemplate, component string) {
		file, err := l.st.Resolver().FilePath(t, c, g, component)
		if err != nil {
			return // Build has reported it
		}
		for _, d := range in {
			f(d.Path + "/" + file)
		}
	}
	named(l.st.Fleet.Layout.Catalog, "")
	for _, component := range componentsOf(g) {
		named(l.st.Fleet.Layout.Values, component)
	}
}

// conceivable are all files that some cluster and component can reach, there or not: what a stray
// one may have been meant to be.
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

// tenants reports members whose tenant has no folder while other tenants have: most often a typo.
func (l *linter) tenants() {
	tenants := map[string]bool{} // tenants of members, true when one of their folders is there
	where := map[string]*fleet.Member{}
	for m, c := range l.st.Clusters() {
		c = c.Desired()
		if m.IsHub || m.Tenant == "" || len(c.Broken) > 0 {
			continue
		}
		if w := where[m.Tenant]; w == nil || m.Pos.Compare(w.Pos) < 0 {
			where[m.Tenant] = m
		}
		for _, g := range c.Groups {
			for _, d := range g.Folders {
				if slices.Contains(strings.Split(d.Path, "/"), m.Tenant) && l.st.Resolver().Snapshot.HasDir(d.Path) {
					tenants[m.Tenant] = true
				}
			}
		}
	}
	known := slices.Sorted(maps.Keys(tenants))
	if len(known) == 0 {
		return
	}
	for _, t := range slices.Sorted(maps.Keys(where)) {
		if tenants[t] {
			continue
		}
		m := where[t]
		p := problem.Problem{
			Reason: problem.UnknownTenant, Severity: problem.Warning, Pos: m.Pos, Subject: fmt.Sprintf("tenant %q", t),
			Found: "has no folder in the hierarchy", Hints: problem.Nearest(t, known), Hub: m.Hub, Cluster: m.Name,
		}
		if len(p.Hints) == 0 {
			p.Expected = "a folder, as the tenants " + strings.Join(known, ", ") + " have"
		}
		l.problems = append(l.problems, p)
	}
}

// unreachable reports files below the groups' roots that no cluster and no component can ever reach
// (H6).
func (l *linter) unreachable() {
	roots := map[string]bool{}
	unknown := map[string]bool{} // members with broken member files: their files are not known
	open := map[string]bool{}    // groups of which no catalog is known: any component may be asked for with a base
	for _, c := range l.st.Clusters() {
		c = c.Desired()
		if len(c.Groups) == 0 {
			unknown[c.Member.Name] = true
		}
		for name, g := range c.Groups {
			roots[g.Root] = true
			if len(g.Components()) > 0 {
				open[name] = false
			} else if _, seen := open[name]; !seen {
				open[name] = true
			}
		}
	}
	var strays []string
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		for _, p := range l.st.Resolver().Snapshot.Under(root) {
			ofUnknown := slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return unknown[part] })
			if !l.reachable[p] && !ofUnknown && !l.inOpenGroup(p, open) {
				strays = append(strays, p)
			}
		}
	}
	if len(strays) == 0 {
		return
	}
	hints := nearestPaths(strays, l.conceivable())
	for _, p := range strays {
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.UnreachableFile, Severity: problem.Warning, Pos: problem.Pos{File: p},
			Found: "no cluster and no component reads this file", Hints: hints[p],
		})
	}
}

// strayMembers reports files among the member files that are none, such as one called .yml: nobody
// would miss the cluster. Where the folder holds other files that are read, nothing can be said of
// the rest.
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

// inOpenGroup reports whether a file is the values of some component of a group whose components
// are not known.
func (l *linter) inOpenGroup(p string, open map[string]bool) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if !l.folders[dir] {
			continue
		}
		group, _, _ := strings.Cut(strings.TrimPrefix(p, dir+"/"), "/")
		if open[group] {
			return true
		}
	}
	return false
}

// gap is a path with one part taken out.
type gap struct{ before, after string }

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

// nearestPaths suggests, for each stray path, a reachable one that differs in one part only. The
// reachable ones, of which there are many, are looked at once.
func nearestPaths(strays []string, reachable map[string]bool) map[string][]string {
	candidates := map[gap][]string{}
	for _, p := range strays {
		gaps(p, func(at gap, _ string) { candidates[at] = nil })
	}
	if len(candidates) > 0 {
		for r := range reachable {
			gaps(r, func(at gap, part string) {
				if known, wanted := candidates[at]; wanted {
					candidates[at] = append(known, part)
				}
			})
		}
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
	}
	return out
}

// documents reports what the readable files themselves hold: scalars that YAML's versions read
// differently (H9), and documents that nobody reads.
func (l *linter) documents() {
	for _, p := range slices.Sorted(maps.Keys(l.reachable)) {
		file := l.st.Resolver().Snapshot.File(p)
		if file == nil || strings.HasSuffix(p, hierarchy.TemplateSuffix) {
			continue
		}
		doc, err := l.st.Resolver().Documents.Doc(file)
		if err != nil {
			l.problems = append(l.problems, problem.From(err, problem.InvalidYAML, problem.Pos{File: p})...)
			continue
		}
		for _, a := range doc.Ambiguous {
			what := "value"
			if a.Key {
				what = "key"
			}
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.AmbiguousScalar, Severity: problem.Warning, Pos: a.Pos, Subject: fmt.Sprintf("%s %s", what, a.Text),
				Found: fmt.Sprintf("Helm reads %s, YAML 1.2 reads something else", a.Means), Hints: []string{"put it in quotes, or write what you mean"},
			})
		}
		if !doc.Extra.IsZero() {
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.MultipleDocuments, Severity: problem.Warning, Pos: doc.Extra,
				Found: "a second document, which nobody reads", Expected: "one document in a file",
			})
		}
	}
}

// plaintext reports secrets in plain text in all files that some cluster can read.
func (l *linter) plaintext() {
	for _, p := range slices.Sorted(maps.Keys(l.reachable)) {
		file := l.st.Resolver().Snapshot.File(p)
		if file == nil || file.Err != nil {
			continue
		}
		var found []problem.Problem
		if strings.HasSuffix(p, hierarchy.TemplateSuffix) {
			found = secretscan.Template(file)
		} else if doc, err := l.st.Resolver().Documents.Doc(file); err == nil {
			found = secretscan.Document(file, doc.Root)
		}
		l.problems = append(l.problems, problem.Cut(found, problem.OfFile)...)
	}
}
