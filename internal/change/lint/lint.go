package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/bootstrap"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/companion"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Run returns every finding about a state's snapshot, errors and warnings, in order of position.
// These are the state's own problems, and likely mistakes that change no response. The tools follow
// what the hubs' roots deploy; a fleet without roots needs none.
func Run(st *fleetstate.State, tools expand.Tools) []problem.Problem {
	l := linter{st: st, tools: tools, reachable: map[string]bool{}, folders: map[string]bool{}, names: map[nameKey]namedBy{}, trees: map[*hierarchy.Tree]bool{}, files: map[*hierarchy.Tree]bool{}, catalogs: map[string]bool{}, deployed: map[string][]deployed{}, hubRoots: map[string]*bootstrap.Roots{}}
	l.problems = slices.Concat(st.Problems, st.Fleet.Problems, st.Fleet.ApprovalProblems, st.Resolver().Mounts.Problems())
	for _, folder := range st.Resolver().Snapshot.BrokenFolders() { // even if nothing reads it
		l.reachable[folder.Path] = true
		l.problems = append(l.problems, problem.From(folder.Err, problem.LimitExceeded, problem.Pos{File: folder.Path})...)
	}
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
	for _, catalogs := range st.Resolver().Catalogs {
		for _, c := range catalogs {
			l.reach(c.Path)
		}
	}
	l.teams()
	l.rollouts()
	l.holds()
	l.apps()
	l.tenants()
	l.deployment()
	l.problems = append(l.problems, st.TenantProblems()...)
	l.mergeRules()
	l.tenantSchemas()
	l.roots()
	l.strayMembers()
	l.strayLayouts()
	l.unreachable()
	l.documents()
	l.plaintext()
	return problem.OnePerPlace(problem.Sorted(l.problems))
}

type linter struct {
	st        *fleetstate.State
	tools     expand.Tools
	reachable map[string]bool // files that exist and that some cluster and component can reach
	folders   map[string]bool // folders of levels, true if one exists
	names     map[nameKey]namedBy
	problems  []problem.Problem
	catalogs  map[string]bool       // catalogs of the layout that have been checked
	deployed  map[string][]deployed // by hub
	hubRoots  map[string]*bootstrap.Roots
	trees     map[*hierarchy.Tree]bool // trees whose conflicts are among the problems
	files     map[*hierarchy.Tree]bool // trees whose value files were compared with their catalogs
	graph     *graph                   // of the cluster that is checked now
}

// maxReleaseName is the limit of a Helm release's name (helm v3, pkg/chartutil/validate_name.go).
const maxReleaseName = 53

// deployable reports names that Helm or Kubernetes refuses. Without it, the error appears only when
// the Application is synchronized.
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

// reach records a file that can be reached, and its template, as far as they exist. Most do not
// exist for most clusters.
func (l *linter) reach(p string) {
	for _, p := range [...]string{p, p + hierarchy.TemplateSuffix} {
		if l.st.Resolver().Snapshot.File(p) != nil {
			l.reachable[p] = true
		}
	}
}

// member collects the files that a member reaches, and the conflicts of its trees.
func (l *linter) member(m *fleet.Member) {
	l.reachable[m.Pos.File] = true
	c := l.st.ClusterOf(m).Desired()
	l.problems = append(l.problems, m.Problems...)
	l.flags(c)
	l.record(m)
	l.replaced(c)
	l.infrastructure(c)
	l.ownNames(c)
	// Resolving the components of a member beyond its limit may take any time.
	isResolved := len(c.Broken) == 0 && !slices.ContainsFunc(c.Problems, func(p problem.Problem) bool { return p.Reason == problem.LimitExceeded })
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		g := c.Groups[name]
		l.reads(c, g, l.there(g.Folders), l.reach)
		if name == fleetstate.FleetGroup {
			l.problems = append(l.problems, c.Registration.ConflictsBut(l.trees)...)
		}
		for _, component := range componentsOf(g) {
			if !isResolved {
				break
			}
			if r, problems := l.st.Resolver().Resolve(c, g, component, nil); len(problems) == 0 {
				l.problems = append(l.problems, r.Values.ConflictsBut(l.trees)...)
				l.overruled(g, component, r)
				if r.Enabled && m.Lifecycle != fleet.Retired {
					l.component(c, name, component)
					l.deploys(m, name, component, r)
					l.deployable(component, r)
					l.dependencies(c, name, component, r)
					l.listed(c, g, component, r)
				}
			}
		}
		for _, layer := range g.Catalogs {
			if layer.Level != catalog.Level {
				l.problems = append(l.problems, catalog.Problems(layer.Root)...)
			} else if !l.catalogs[layer.Path] {
				l.catalogs[layer.Path] = true
				l.problems = append(l.problems, catalog.NearMisses(layer.Root)...)
			}
		}
	}
}

// listed reports a component that no catalog has, where Argo CD deploys. There is no ApplicationSet
// for it, unless a root queries for all components of the group.
func (l *linter) listed(c *fleetstate.Cluster, g *fleetstate.Group, component string, r fleetstate.Component) {
	if !g.HasCatalog() || g.InCatalog(component) || component == fleetstate.Registration || l.st.Resolver().IsDeployedByFlux(c, g.Name) {
		return
	}
	if m := c.Member; m.Owner(g.Name) == fleet.OwnerHub {
		if asked, _ := l.rootsOf(m.Hub).Asks(query.Components, g.Name, component); asked {
			return
		}
	}
	l.problems = append(l.problems, problem.Problem{
		Reason: problem.NoEffect, Severity: problem.Warning, Pos: r.EntryTree.Root.Pos(), Subject: fmt.Sprintf("component %q of group %q", component, g.Name),
		Found: "has no effect: the group's catalog lacks it, so that Argo CD has no ApplicationSet for it", Expected: "an entry in " + strings.Join(l.st.Fleet.Layout.Groups[g.Name].Catalogs, " or "),
		Hub: c.Member.Hub, Cluster: c.Member.Name,
	})
}

// componentsOf returns a group's components, with the registration chart, which is in no catalog.
func componentsOf(g *fleetstate.Group) []string {
	components := g.Components()
	if g.Name == fleetstate.FleetGroup {
		components = append(components, fleetstate.Registration)
	}
	return components
}

// there returns the folders that hold anything.
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

// reads calls f for each file that a cluster's group has or could have in the given folders, except
// for the file's suffix.
func (l *linter) reads(c *fleetstate.Cluster, g *fleetstate.Group, in []hierarchy.Folder, f func(p string)) {
	named := func(t *fleet.FileTemplate, component string) {
		file, companions := "", l.companions(g, component)
		for _, d := range in {
			if file == "" || t.ReadsLevel {
				var err error
				if file, err = l.st.Resolver().FilePath(t, c, g, component, d.Level); err != nil {
					return // Build has reported it
				}
			}
			f(d.Path + "/" + file)
			for _, name := range companions {
				for _, own := range companion.Files(file, name) {
					f(d.Path + "/" + own)
				}
			}
		}
	}
	named(l.st.Fleet.Layout.Catalog, "")
	components := componentsOf(g)
	if g.Name == provision.Group { // a class may have files before a cluster has it
		components = append(components, catalog.Layers(l.st.Resolver().Catalogs[g.Name]).Components()...)
	}
	for _, component := range components {
		named(l.st.Fleet.Layout.Values, component)
	}
}

// companions returns the names of a component's further charts.
func (l *linter) companions(g *fleetstate.Group, component string) []string {
	if component == "" {
		return nil
	}
	r, _ := l.st.Resolver().MergeEntry(g.Catalogs, component)
	if r.Entry == nil {
		return nil
	}
	return r.Entry.Companions
}

// tenants reports members whose tenant has no folder while other tenants have one: usually a typo.
func (l *linter) tenants() {
	tenants := map[string]bool{} // tenants of members, true if one of their folders exists
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
				if !l.st.Fleet.Layout.InMount(d.Path) && slices.Contains(strings.Split(d.Path, "/"), m.Tenant) && l.st.Resolver().Snapshot.HasDir(d.Path) {
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
