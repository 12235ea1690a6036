package scaffold

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
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
	known := l.GroupNames()
	if !slices.Contains(known, c.Group) {
		return problem.Usage(append(problem.Nearest(c.Group, known), "the layout's groups are "+strings.Join(known, ", ")), "--group: group %q is not in the layout; %s", c.Group, nothingWritten)
	}
	if c.Manifests && c.Path == "" {
		return problem.Usage([]string{nothingWritten}, "--manifests needs --path: the folder in Git")
	}
	if err := checkURL("repo-url", c.RepoURL); err != nil {
		return err
	}
	if c.Path != "" && !fs.ValidPath(c.Path) {
		return problem.Usage([]string{nothingWritten}, "--path: %q; expected a folder below the root of the repository, such as charts/dns", c.Path)
	}
	if c.Path != "" && c.Chart != "" {
		return problem.Usage([]string{nothingWritten}, "--path does not go with --chart: a folder in Git, or a chart of a Helm repository or registry")
	}
	return nil
}

// entry returns the catalog entry, indented below the component's name.
func (c Component) entry(indent string) string {
	var b strings.Builder
	line := func(depth int, format string, args ...any) {
		b.WriteString(indent + strings.Repeat("  ", depth) + fmt.Sprintf(format, args...) + "\n")
	}
	line(0, "%s:", scalar(c.Name))
	line(1, "enabled: %t", !c.IsOff)
	if c.Team != "" {
		line(1, "team: %s", scalar(c.Team))
	}
	if c.Manifests {
		line(1, "kind: manifests")
	}
	line(1, "chart:")
	line(2, "repoURL: %s", scalar(c.RepoURL))
	if c.Path != "" {
		line(2, "path: %s", scalar(c.Path))
	} else {
		line(2, "name: %s", scalar(c.Chart))
	}
	line(2, "version: %s", scalar(c.Version))
	if c.Namespace != "" {
		line(1, "namespace: %s", scalar(c.Namespace))
	}
	return b.String()
}

// NewComponent adds an entry to the last catalog of the group. Where the layout has no catalog, it
// adds the entry to the first level's.
func NewComponent(ctx context.Context, r Repository, c Component) (*Draft, error) {
	before, layout, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.check(layout); err != nil {
		return nil, err
	}
	if c.Chart == "" && c.Path == "" {
		c.Chart = c.Name
	}
	st, err := r.state(before)
	if err != nil {
		return nil, err
	}
	if at, there := declared(st, c); there {
		return nil, problem.Usage([]string{nothingWritten}, "component %q of group %q is there already, in %s", c.Name, c.Group, at)
	}
	file, err := c.file(st, layout)
	if err != nil {
		return nil, err
	}
	d := &Draft{Files: map[string]string{}}
	if was := before.File(file); was == nil {
		d.Files[file] = catalog.ComponentsKey + ":\n" + c.entry("  ")
	} else if err := d.add(c, was); err != nil {
		return nil, err
	}
	d.admit(before, st.Fleet.Hubs(), c.RepoURL)
	after, err := r.try(before, d)
	if err != nil {
		return nil, err
	}
	d.Summary = clustersOf(after, c)
	d.Next = []string{"argosy plan --base HEAD", "git add . && git commit -m \"Add " + c.Name + "\" && git push"}
	return d, nil
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
	return "", problem.Usage([]string{nothingWritten}, "group %q has no catalog: name one in the layout, groups.%s.catalog", c.Group, c.Group)
}

// add appends the entry to a catalog.
func (d *Draft) add(c Component, file *snapshot.File) error {
	is, err := c.added(file)
	if err == nil {
		d.Changes = append(d.Changes, Change{Path: file.Path, Was: string(file.Data), Is: is})
	}
	return err
}

// emptyComponents is the line of a catalog without an entry.
var emptyComponents = regexp.MustCompile(`(?m)^components:[ \t]*\{\}[ \t]*(\r?)$`)

// added returns a catalog with the entry appended. It parses the result and checks that everything
// else is unchanged.
func (c Component) added(file *snapshot.File) (is string, err error) {
	refuse := func(why string) error {
		return problem.Usage([]string{"add the entry by hand:\n" + c.entry("      "), nothingWritten}, "%s %s", file.Path, why)
	}
	doc, err := yamldoc.Parse(file.Path, file.Data)
	if err != nil {
		return "", problem.FailureOf(err, problem.InvalidYAML, problem.Pos{File: file.Path}, nothingWritten)
	}
	text := string(file.Data)
	if !strings.HasSuffix(text, "\n") && text != "" {
		text += "\n"
	}
	text = emptyComponents.ReplaceAllString(text, catalog.ComponentsKey+":$1")
	entries := catalog.Entries(doc.Root)
	switch {
	case entries == nil && doc.Root.Get(catalog.ComponentsKey) == nil:
		is = text + catalog.ComponentsKey + ":\n" + c.entry("  ")
	case entries == nil || len(entries.Fields()) == 0:
		is = text + c.entry("  ")
	default:
		is = text + "\n" + c.entry(strings.Repeat(" ", int(entries.Fields()[0].Column-1)))
	}
	after, err := yamldoc.Parse(file.Path, []byte(is))
	if err != nil {
		return "", refuse("has a form to which no entry can be added")
	}
	rest := func(d *yamldoc.Doc) string {
		e := catalog.Entries(d.Root)
		if e == nil {
			return ""
		}
		fields := slices.DeleteFunc(slices.Clone(e.Fields()), func(f yamldoc.Field) bool { return f.Key == c.Name })
		out, err := yamldoc.NewMap(d, fields...).YAML()
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(strings.TrimSuffix(string(out), "{}\n"))
	}
	if catalog.Entries(after.Root).Get(c.Name) == nil || rest(doc) != rest(after) {
		return "", refuse("has a form to which no entry can be added")
	}
	return is, nil
}

// clustersOf names the clusters that get the component.
func clustersOf(st *fleetstate.State, c Component) string {
	var names []string
	for m, cluster := range st.Clusters() {
		cluster = cluster.Desired()
		if g := cluster.Groups[c.Group]; g != nil && m.Lifecycle != fleet.Retired {
			if x, problems := st.Resolver().Resolve(cluster, g, c.Name, nil); len(problems) == 0 && x.Enabled {
				names = append(names, m.Name)
			}
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "no cluster gets it yet\n"
	}
	if len(names) == 1 {
		return "1 cluster gets it: " + names[0] + "\n"
	}
	return fmt.Sprintf("%d clusters get it: %s\n", len(names), problem.Truncate(strings.Join(names, ", "), 300))
}
