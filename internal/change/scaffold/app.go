package scaffold

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"

	"github.com/argosy-hub/argosy/internal/fleet/team"
)

// App describes a new application of a team.
type App struct {
	Component
	// Clusters are the clusters that get it; none means all of its team.
	Clusters []string
}

// NewApp adds an application to the last catalog of the group workloads. It writes the values of a
// chart for the team's tenant, and where Clusters are given, the files that enable it there.
func NewApp(ctx context.Context, r Repository, a App) (*Draft, error) {
	d, st, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := needsWorkloads(d.layout); err != nil {
		return nil, err
	}
	a.Group, a.IsOff = team.Workloads, len(a.Clusters) > 0
	if err := a.check(d.layout); err != nil {
		return nil, err
	}
	table := st.Resolver().Teams()
	if err := oneOf("--team", a.Team, "teams", table.Names()); err != nil {
		return nil, err
	}
	owner := table.Team(a.Team)
	if owner.Cordoned {
		return nil, refuse("--team: %q is cordoned, in %s", a.Team, owner.Pos.File)
	}
	if a.Namespace = cmp.Or(a.Namespace, owner.Namespace(a.Name)); a.Namespace == "" {
		return nil, problem.Usage([]string{"the team has " + strings.Join(owner.Namespaces(), ", "), nothingWritten}, "--namespace is missing: the team has several")
	}
	if err := d.addEntry(st, &a.Component); err != nil {
		return nil, err
	}
	own := clustersOfTeam(st, a.Team)
	if !a.Manifests && len(own) > 0 {
		values, err := st.Resolver().FilePath(d.layout.Values, own[0], own[0].Groups[a.Group], a.Name, "")
		if err != nil {
			return nil, refuse("%w", err)
		}
		d.Files[path.Join(sharedFolder(st, d.layout, a.Group, own), values)] = fmt.Sprintf("# Values of %s on all clusters of its tenant; environments and clusters say what differs.\n{}\n", a.Name)
	}
	for _, name := range a.Clusters {
		d.setOn(st, "--cluster", a.Team, name, "true", a.Name, "enabled")
	}
	after, err := d.try()
	if err != nil {
		return nil, err
	}
	d.Summary = fmt.Sprintf("%s is in the project %s and the namespace %s\n", a.Name, owner.Component(), a.Namespace) + clustersOf(after, a.Component)
	d.Next = []string{planned, commit("Add " + a.Name)}
	return d, nil
}

// planned is the command that shows what the files change.
const planned = "argosy plan --base HEAD"

// needsWorkloads refuses a layout without the group of applications.
func needsWorkloads(l *fleet.Layout) error {
	g, ok := l.Groups[team.Workloads]
	switch hints := []string{"groups: {workloads: {catalog: fleet/workloads.yaml}}", nothingWritten}; {
	case !ok:
		return problem.Usage(hints, "the layout has no group %s", team.Workloads)
	case len(g.Catalogs) == 0:
		return problem.Usage(hints, "the group %s has no catalog", team.Workloads)
	}
	return nil
}

// clustersOfTeam returns the clusters that a team is on, sorted by name.
func clustersOfTeam(st *fleetstate.State, name string) (out []*fleetstate.Cluster) {
	table := st.Resolver().Teams()
	for m, c := range st.Clusters() {
		if table.Of(m).Has(table.Team(name)) && c.Desired().Groups[team.Workloads] != nil {
			out = append(out, c.Desired())
		}
	}
	slices.SortFunc(out, func(a, b *fleetstate.Cluster) int { return strings.Compare(a.Member.Name, b.Member.Name) })
	return out
}

// sharedFolder returns the least specific level of the tenant that these clusters share and that no
// other tenant has.
func sharedFolder(st *fleetstate.State, layout *fleet.Layout, group string, own []*fleetstate.Cluster) string {
	folders := map[string]int{}
	for m, c := range st.Clusters() {
		g := c.Desired().Groups[group]
		if g == nil || m.Tenant == own[0].Member.Tenant {
			continue
		}
		for _, f := range g.Folders {
			folders[f.Path]++
		}
	}
	all := own[0].Groups[group].Folders
	for _, f := range all {
		shared := layout.OfTenant(f.Level) && folders[f.Path] == 0 && !slices.ContainsFunc(own, func(c *fleetstate.Cluster) bool {
			return !slices.ContainsFunc(c.Groups[group].Folders, func(o hierarchy.Folder) bool { return o.Path == f.Path })
		})
		if shared {
			return f.Path
		}
	}
	return all[0].Path
}

// setOn sets one key in the catalog of the own level of a team's cluster, which a flag names.
func (d *Draft) setOn(st *fleetstate.State, flag, owner, cluster, value string, keys ...string) {
	own := clustersOfTeam(st, owner)
	var names []string
	for _, c := range own {
		names = append(names, c.Member.Name)
	}
	if err := oneOf(flag, cluster, fmt.Sprintf("clusters of team %q", owner), names); err != nil {
		d.err = cmp.Or(d.err, err)
		return
	}
	c := own[slices.Index(names, cluster)]
	g := c.Groups[team.Workloads]
	folder, file := ownFolder(st, c, g), ""
	var err error
	if folder == "" {
		err = problem.Usage([]string{"add one to the layout's levels", nothingWritten}, "cluster %q has no level of its own", cluster)
	} else if file, err = st.Resolver().FilePath(d.layout.Catalog, c, g, "", g.Folders[len(g.Folders)-1].Level); err != nil {
		err = refuse("%w", err)
	}
	if err != nil {
		d.err = cmp.Or(d.err, err)
		return
	}
	d.edit(path.Join(folder, file), "set it by hand: "+strings.Join(keys, ".")+": "+value, func(e *yamldoc.Editor) error {
		if e.Doc().Root.Get(catalog.ComponentsKey) != nil {
			keys = append([]string{catalog.ComponentsKey}, keys...)
		}
		return e.Set(value, keys...)
	})
}

// ownFolder returns the level that no other cluster has: the first level that is named for the
// cluster, or the most specific. It is empty if there is none.
func ownFolder(st *fleetstate.State, c *fleetstate.Cluster, g *fleetstate.Group) (own string) {
	others := map[string]bool{}
	for m, other := range st.Clusters() {
		if og := other.Desired().Groups[g.Name]; og != nil && m != c.Member {
			for _, f := range og.Folders {
				others[f.Path] = true
			}
		}
	}
	for _, f := range g.Folders {
		if others[f.Path] {
			continue
		}
		if own = f.Path; slices.Contains(strings.Split(f.Path, "/"), c.Member.Name) {
			break
		}
	}
	return own
}
