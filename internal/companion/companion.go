// Package companion resolves the further charts of a component: those that a catalog entry names
// under companions, each with a values file of its own at each level.
//
//  1. A companion's chart is a further source of its component's Application, or for Flux a further
//     HelmRelease: it comes, moves and goes with the component.
//  2. Its values are, least specific first: `values` of the entry's companion, catalog by catalog,
//     then its files level by level, beside the component's values file. They merge as those do.
//  3. The catalogs alone say which companions a component has, as its ApplicationSet is made for
//     them. A level changes their charts and values; charts have a switch of their own.
package companion

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Companion is a further chart of a component.
type Companion struct {
	Name        string
	Chart       catalog.Chart
	ReleaseName string
	Values      *hierarchy.Tree
}

// Component is what companions are resolved by.
type Component struct {
	// Name and Group are the component's, and ReleaseName is that of its chart.
	Name, Group, ReleaseName string
	Entry                    *catalog.Entry
	// Tree is the merged entry.
	Tree *hierarchy.Tree
	// ValuesFile returns the component's values file inside a level's folder.
	ValuesFile func() (string, error)
	// Render executes the templates of a catalog's node.
	Render func(*yamldoc.Node) (*yamldoc.Node, error)
	// Layers are the layers of files, level by level.
	Layers func(files []string) ([]hierarchy.Layer, error)
	Merge  func([]hierarchy.Layer) *hierarchy.Tree
}

// Files are the paths of a companion's values files beside the one of its component: the file, and
// that in a folder of its own, which wins.
func Files(values, companion string) []string {
	dir, base := path.Split(values)
	inFolder := dir + companion + "/" + base
	if base == "values.yaml" {
		return []string{dir + companion + ".yaml", inFolder}
	}
	return []string{dir + strings.TrimSuffix(base, ".yaml") + "." + companion + ".yaml", inFolder}
}

// Resolve returns the companions of a component, sorted by name. The error is a problem.Problem,
// or another one of a file or a template.
func Resolve(c Component) ([]Companion, error) {
	if err := c.misplaced(); err != nil || len(c.Entry.Companions) == 0 {
		return nil, err
	}
	values, err := c.ValuesFile()
	if err != nil {
		return nil, err
	}
	var out []Companion
	for _, name := range c.Entry.Companions {
		one, err := c.resolve(name, Files(values, name))
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (c Component) resolve(name string, files []string) (Companion, error) {
	out := Companion{Name: name, ReleaseName: c.ReleaseName + "-" + name}
	at := func(keys ...string) *yamldoc.Node {
		return c.Tree.At(append([]string{catalog.KeyCompanions, name}, keys...))
	}
	for _, text := range append(out.Chart.Texts(), catalog.Text{To: &out.ReleaseName, Path: []string{catalog.KeyReleaseName}}) {
		n := at(text.Path...)
		if n.IsNull() {
			continue
		}
		rendered, err := c.Render(n)
		if err != nil {
			return out, err
		}
		*text.To = rendered.Text()
	}
	out.Chart.RepoURL = release.WithoutScheme(out.Chart.RepoURL)
	if found, expected := out.Chart.Incomplete("", true); found != "" {
		return out, problem.Problem{
			Reason: problem.IncompleteCatalog, Severity: problem.Error, Pos: at().Pos(),
			Subject: fmt.Sprintf("companion %q of component %q of group %q", name, c.Name, c.Group), Found: found, Expected: expected,
		}
	}
	var layers []hierarchy.Layer
	for _, l := range c.Tree.Layers() {
		companions := l.Root.Get(catalog.KeyCompanions)
		values := companions.Get(name).Get(catalog.KeyValues)
		if l.Root.IsNull() || companions != nil && companions.IsNull() || values != nil && values.IsNull() {
			layers = nil // null removes what lower layers set (H2)
		}
		if !values.IsMap() {
			continue
		}
		rendered, err := c.Render(values)
		if err != nil {
			return out, err
		}
		layers = append(layers, hierarchy.Layer{Level: l.Level, Path: l.Path, Root: rendered})
	}
	read, err := c.Layers(files)
	if err != nil {
		return out, err
	}
	out.Values = c.Merge(append(layers, read...))
	return out, nil
}

// misplaced reports companions that are not those of the catalogs (rule 3).
func (c Component) misplaced() error {
	var declared []string
	catalogued := false
	for _, l := range c.Tree.Layers() {
		if l.Level != catalog.Level {
			continue
		}
		catalogued = true
		for _, f := range fields(l.Root.Get(catalog.KeyCompanions)) {
			declared = append(declared, f.Key)
		}
	}
	if !catalogued {
		return nil
	}
	fault := func(at *yamldoc.Node, name, found string) error {
		return problem.Problem{
			Reason: problem.InvalidValue, Severity: problem.Error, Pos: at.Pos(), Subject: fmt.Sprintf("companion %q of component %q of group %q", name, c.Name, c.Group),
			Found: found, Expected: "companions where the catalog of the release has the component, and nowhere else",
		}
	}
	at := c.Tree.At([]string{catalog.KeyCompanions})
	for _, name := range c.Entry.Companions {
		if !slices.Contains(declared, name) {
			return fault(at.Get(name), name, "is not in the catalog")
		}
	}
	for _, name := range declared {
		if !slices.Contains(c.Entry.Companions, name) {
			return fault(at, name, "is in the catalog, and a level removes it")
		}
	}
	return nil
}

func fields(n *yamldoc.Node) []yamldoc.Field {
	if !n.IsMap() {
		return nil
	}
	return n.Fields()
}

// Repositories are where further charts come from.
func Repositories(all []Companion) (out []string) {
	for _, one := range all {
		out = append(out, one.Chart.RepoURL)
	}
	return out
}
