package facts

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Parse reads a facts file: apiVersion argosy.dev/v1alpha1, kind Facts, closed (only the clusters listed are registered),
// clusters with name, server, labels and annotations; and, if it is to say anything of what engines have, applications with name, cluster, group, component,
// release, cascade, controller and grant, and helmReleases with name, cluster, group, component, release, owner, cascade and
// suspended; kustomizations have the same keys. All that is wrong comes back as a problem.List.
func Parse(file string, data []byte) (Set, error) {
	doc, err := yamldoc.Parse(file, data)
	if err != nil {
		return Set{}, err
	}
	r := yamldoc.NewReader(doc)
	if doc.Root.IsNull() { // what a failing export, or half a write, leaves: not that nothing is known
		r.Add(problem.InvalidValue, doc.Root, "the facts file", "is empty", "a map of kind Facts")
	}
	root := r.Map(doc.Root, "the facts file")
	root.Known("apiVersion", "kind", "closed", "clusters", "applications", "helmReleases", "kustomizations")
	root.Const("apiVersion", "argosy.dev/v1alpha1")
	root.Const("kind", "Facts")
	f := fileReader{r: r, doc: doc}
	var clusters []Cluster
	seen := map[string]problem.Pos{}
	for i, item := range root.List("clusters") {
		m := r.Map(item, fmt.Sprintf("cluster %d", i+1))
		m.Known("name", "server", "labels", "annotations")
		c := Cluster{Name: m.String("name"), Server: m.String("server"), Labels: m.StringMap("labels"), Annotations: m.StringMap("annotations")}
		if f.once(item, "cluster", c.Name, seen) {
			clusters = append(clusters, c)
		}
	}
	set := NewSet(root.Bool("closed", false), clusters...)
	if root.Has("applications") {
		set = set.WithApplications(f.applications("application", root.List("applications"), "controller", "grant")...)
	}
	if root.Has("helmReleases") || root.Has("kustomizations") {
		releases := f.applications("HelmRelease", root.List("helmReleases"), "owner", "suspended")
		for _, k := range f.applications(Kustomization, root.List("kustomizations"), "owner", "suspended") {
			k.Kind = Kustomization
			releases = append(releases, k)
		}
		set = set.WithHelmReleases(releases...)
	}
	if err := r.Err(); err != nil {
		return Set{}, err
	}
	return set, nil
}

type fileReader struct {
	r   *yamldoc.Reader
	doc *yamldoc.Doc
}

// applications are what an engine has; more are the keys that only its kind of object has.
func (f fileReader) applications(what string, items []*yamldoc.Node, more ...string) []Application {
	var out []Application
	seen := map[string]problem.Pos{}
	for i, item := range items {
		m := f.r.Map(item, fmt.Sprintf("%s %d", what, i+1))
		m.Known(append([]string{"name", "cluster", "group", "component", "release", "cascade"}, more...)...)
		a := Application{
			Name: m.String("name"), Cluster: m.String("cluster"), Group: m.String("group"), Component: m.String("component"),
			Release: m.String("release"), Owner: m.String("owner"), Cascade: m.Bool("cascade", false), Suspended: m.Bool("suspended", false),
			Controller: m.String("controller"), Grant: m.Bool("grant", false),
		}
		if f.once(item, what, a.Name, seen) {
			out = append(out, a)
		}
	}
	return out
}

// once reports an item without a name, or with one that another has.
func (f fileReader) once(item *yamldoc.Node, what, name string, seen map[string]problem.Pos) bool {
	first, dup := seen[name]
	switch {
	case strings.TrimSpace(name) == "":
		f.r.Add(problem.InvalidValue, item, `key "name"`, "missing or empty", "the "+what+"'s name")
		return false
	case dup:
		f.r.Add(problem.InvalidValue, item, fmt.Sprintf("%s %q", what, name), "listed twice, first at "+first.String(), "each "+what+" once")
		return false
	}
	seen[name] = f.doc.Pos(item)
	return true
}
