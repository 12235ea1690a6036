package facts

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Parse reads a facts file: apiVersion argosy.dev/v1alpha1, kind Facts, clusters with name, server, labels and
// annotations; and, if it is to say anything of Applications, applications with name, cluster, group, component,
// release, cascade and controller. All that is wrong comes back as a problem.List.
func Parse(file string, data []byte) (Set, error) {
	doc, err := yamldoc.Parse(file, data)
	if err != nil {
		return Set{}, err
	}
	r := yamldoc.NewReader(doc)
	root := r.Map(doc.Root, "the facts file")
	root.Known("apiVersion", "kind", "clusters", "applications")
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
	set := NewSet(false, clusters...)
	if root.Has("applications") {
		set = set.WithApplications(f.applications(root.List("applications"))...)
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

func (f fileReader) applications(items []*yamldoc.Node) []Application {
	var out []Application
	seen := map[string]problem.Pos{}
	for i, item := range items {
		m := f.r.Map(item, fmt.Sprintf("application %d", i+1))
		m.Known("name", "cluster", "group", "component", "release", "cascade", "controller")
		a := Application{
			Name: m.String("name"), Cluster: m.String("cluster"), Group: m.String("group"), Component: m.String("component"),
			Release: m.String("release"), Cascade: m.Bool("cascade", false), Controller: m.String("controller"),
		}
		if f.once(item, "application", a.Name, seen) {
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
