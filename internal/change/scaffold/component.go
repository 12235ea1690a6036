package scaffold

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// Component describes a new component of a group: a chart, or with Path a folder in Git.
type Component struct {
	Group, Name string
	// RepoURL, Chart, Path and Version are the chart's coordinates; Chart defaults to Name.
	RepoURL, Chart, Path, Version string
	Namespace                     string
	// Manifests says that Path holds manifests, not a chart.
	Manifests bool
	// Team is the team of an application, a component of the group workloads.
	Team string
	// IsOff says that levels enable it, cluster by cluster.
	IsOff bool
}

func (c Component) check(l *fleet.Layout) error {
	if err := checkNames(named{"name", c.Name}); err != nil {
		return err
	}
	if err := oneOf("--group", c.Group, "groups of the layout", l.GroupNames()); err != nil {
		return err
	}
	switch {
	case c.Manifests && c.Path == "":
		return refuse("--manifests needs --path: the folder in Git")
	case c.Path != "" && !fs.ValidPath(c.Path):
		return refuse("--path: %q; expected a folder below the root of the repository, such as charts/dns", c.Path)
	case c.Path != "" && c.Chart != "":
		return refuse("--path does not go with --chart: a folder in Git, or a chart of a Helm repository or registry")
	}
	return checkURL("repo-url", c.RepoURL)
}

// NewComponent adds an entry to the last catalog of the group. Where the layout has no catalog, it
// adds the entry to the first level's.
func NewComponent(ctx context.Context, r Repository, c Component) (*Draft, error) {
	d, st, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.check(d.layout); err != nil {
		return nil, err
	}
	if err := d.addEntry(st, &c); err != nil {
		return nil, err
	}
	d.admit(st.Fleet.Hubs(), c.RepoURL)
	after, err := d.try()
	if err != nil {
		return nil, err
	}
	d.Summary = clustersOf(after, c)
	d.Next = []string{planned, commit("Add " + c.Name)}
	return d, nil
}

// addEntry adds a component's entry to its group's catalog.
func (d *Draft) addEntry(st *fleetstate.State, c *Component) error {
	if c.Chart == "" && c.Path == "" {
		c.Chart = c.Name
	}
	switch at, there := declared(st, *c); {
	case there && c.Team != "":
		return problem.Usage([]string{"argosy move app puts it on another cluster", nothingWritten}, "application %q is there already, in %s", c.Name, at)
	case there:
		return refuse("component %q of group %q is there already, in %s", c.Name, c.Group, at)
	}
	file, err := c.file(st, d.layout)
	if err != nil {
		return err
	}
	entry, err := text("entry.yaml", c)
	if err != nil {
		return err
	}
	d.edit(file, "add the entry by hand:\n      "+c.Name+":"+strings.ReplaceAll("\n"+strings.TrimSpace(entry), "\n", "\n        "), func(e *yamldoc.Editor) error {
		root := e.Doc().Root
		switch {
		case catalog.Entries(root).Get(c.Name) != nil: // in an entry that no cluster uses
			return refuse("component %q of group %q is there already, in %s", c.Name, c.Group, file)
		case root.IsMap() && root.Get(catalog.ComponentsKey) == nil: // its entries are at the top
			return e.Set(entry, c.Name)
		}
		return e.Set(entry, catalog.ComponentsKey, c.Name)
	})
	return nil
}

// declared returns the catalog that has the component already.
func declared(st *fleetstate.State, c Component) (string, bool) {
	for _, cluster := range st.Clusters() {
		if g := cluster.Desired().Groups[c.Group]; g != nil && g.Has(c.Name) {
			for _, l := range g.Catalogs {
				if catalog.Entries(l.Root).Get(c.Name) != nil {
					return l.Path, true
				}
			}
		}
	}
	return "", false
}

// file returns the catalog that gets the entry.
func (c Component) file(st *fleetstate.State, l *fleet.Layout) (string, error) {
	if own := l.Groups[c.Group].Catalogs; len(own) > 0 {
		return own[len(own)-1], nil
	}
	for _, cluster := range st.Clusters() {
		g := cluster.Desired().Groups[c.Group]
		if g == nil || len(g.Folders) == 0 {
			continue
		}
		if file, err := st.Resolver().FilePath(l.Catalog, cluster.Desired(), g, "", g.Folders[0].Level); err == nil {
			return path.Join(g.Folders[0].Path, file), nil
		}
	}
	return "", refuse("group %q has no catalog: name one in the layout, groups.%s.catalog", c.Group, c.Group)
}

// clustersOf names the clusters that get the component.
func clustersOf(st *fleetstate.State, c Component) string {
	names := clustersWith(st, c.Group, c.Name)
	if len(names) == 0 {
		return "no cluster gets it yet\n"
	}
	if len(names) == 1 {
		return "1 cluster gets it: " + names[0] + "\n"
	}
	return fmt.Sprintf("%d clusters get it: %s\n", len(names), problem.Truncate(strings.Join(names, ", "), 300))
}
