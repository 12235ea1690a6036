package scaffold

import (
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
	owner := table.Team(a.Team)
	if owner == nil {
		var known []string
		if table != nil {
			for _, t := range table.Teams {
				known = append(known, t.Name)
			}
		}
		return nil, problem.Usage(append(problem.Nearest(a.Team, known), "argosy new team writes a team's file", nothingWritten), "--team: there is no team %q", a.Team)
	}
	if owner.Cordoned {
		return nil, problem.Usage([]string{nothingWritten}, "--team: %q is cordoned, in %s", a.Team, owner.Pos.File)
	}
	if a.Namespace == "" {
		if a.Namespace = owner.Namespace(a.Name); a.Namespace == "" {
			return nil, problem.Usage([]string{"the team has " + strings.Join(owner.Namespaces(), ", "), nothingWritten}, "--namespace is missing: the team has several")
		}
	}
	if err := d.addApp(st, a); err != nil {
		return nil, err
	}
	after, err := d.try()
	if err != nil {
		return nil, err
	}
	d.Summary = fmt.Sprintf("%s is in the project %s and the namespace %s\n", a.Name, owner.Component(), a.Namespace) + clustersOf(after, a.Component)
	d.commit("Add " + a.Name)
	return d, nil
}

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

// addApp adds the entry, the values and the switches of an application.
func (d *Draft) addApp(st *fleetstate.State, a App) error {
	if err := d.addEntry(st, &a.Component); err != nil {
		return err
	}
	own := clustersOfTeam(st, a.Team)
	if !a.Manifests && len(own) > 0 {
		values, err := st.Resolver().FilePath(d.layout.Values, own[0], own[0].Groups[a.Group], a.Name, "")
		if err != nil {
			return problem.Usage([]string{nothingWritten}, "%w", err)
		}
		d.Files[path.Join(sharedFolder(st, d.layout, a.Group, own), values)] = fmt.Sprintf("# Values of %s on all clusters of its tenant; environments and clusters say what differs.\n{}\n", a.Name)
	}
	for _, name := range a.Clusters {
		c, err := ownCluster(st, "cluster", a.Team, name)
		if err != nil {
			return err
		}
		if err := d.say(st, c, "true", a.Name, "enabled"); err != nil {
			return err
		}
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

// ownCluster returns a cluster by its name. It refuses a cluster that is not the team's.
func ownCluster(st *fleetstate.State, flag, owner, name string) (*fleetstate.Cluster, error) {
	var names []string
	for _, c := range clustersOfTeam(st, owner) {
		if c.Member.Name == name {
			return c, nil
		}
		names = append(names, c.Member.Name)
	}
	return nil, problem.Usage(append(problem.Nearest(name, names), nothingWritten), "--%s: %q is not a cluster of team %q, which is on %s", flag, name, owner, strings.Join(names, ", "))
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

// say sets one key in the catalog of a cluster's own level.
func (d *Draft) say(st *fleetstate.State, c *fleetstate.Cluster, value string, keys ...string) error {
	g := c.Groups[team.Workloads]
	folder, err := ownFolder(st, c, g)
	if err != nil {
		return err
	}
	file, err := st.Resolver().FilePath(d.layout.Catalog, c, g, "", g.Folders[len(g.Folders)-1].Level)
	if err != nil {
		return problem.Usage([]string{nothingWritten}, "%w", err)
	}
	return d.edit(path.Join(folder, file), "set it by hand: "+strings.Join(keys, ".")+": "+value, func(e *yamldoc.Editor) error {
		if e.Doc().Root.Get(catalog.ComponentsKey) != nil {
			keys = append([]string{catalog.ComponentsKey}, keys...)
		}
		return e.Set(value, keys...)
	})
}

// ownFolder returns the level that no other cluster has: the first level that is named for the
// cluster, or the most specific.
func ownFolder(st *fleetstate.State, c *fleetstate.Cluster, g *fleetstate.Group) (string, error) {
	others := map[string]bool{}
	for m, other := range st.Clusters() {
		if og := other.Desired().Groups[g.Name]; og != nil && m != c.Member {
			for _, f := range og.Folders {
				others[f.Path] = true
			}
		}
	}
	own := ""
	for _, f := range g.Folders {
		if others[f.Path] {
			continue
		}
		if own = f.Path; slices.Contains(strings.Split(f.Path, "/"), c.Member.Name) {
			break
		}
	}
	if own != "" {
		return own, nil
	}
	return "", problem.Usage([]string{"add one to the layout's levels", nothingWritten}, "cluster %q has no level of its own", c.Member.Name)
}
