package facts

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// Parse reads a facts file: apiVersion argosy.dev/v1alpha1, kind Facts, closed (only the clusters
// listed are registered), and clusters with name, server, labels and annotations. About engines, it
// may have lists of objects with name, cluster, group, component, release, cascade, digest and
// healthy. Objects in applications also have controller and grant; objects in helmReleases and
// kustomizations also have owner and suspended. The error is a problem.List of all problems.
func Parse(file string, data []byte) (Set, error) { return Join(File{file, data}) }

// File is a facts file that has been read.
type File struct {
	Name string // for messages
	Data []byte
}

// Join reads facts files of several hubs, one of each, as the facts of a fleet. All files must be
// closed or none, and all must list what engines have or none: otherwise what one file does not
// know would count as missing. What two files list, they must list with the same facts. The error
// is a problem.List of all problems.
func Join(files ...File) (Set, error) {
	j := joiner{
		clusters:     itemsOf[Cluster]{what: "cluster", seen: map[string]item[Cluster]{}},
		applications: itemsOf[Application]{what: "application", seen: map[string]item[Application]{}},
		releases:     itemsOf[Application]{what: "HelmRelease", seen: map[string]item[Application]{}},
		custom:       itemsOf[Application]{what: Kustomization, seen: map[string]item[Application]{}},
	}
	var problems problem.List
	for i, file := range files {
		if err := j.read(i, file); err != nil {
			problems = append(problems, problem.From(err, problem.InvalidValue, problem.Pos{File: file.Name})...)
		}
	}
	if len(problems) > 0 {
		return Set{}, problems
	}
	set := NewSet(j.closed.value, j.clusters.all...)
	if j.hasApplications {
		set = set.WithApplications(j.applications.all...)
		set.health = j.hasHealth
	}
	if j.hasReleases {
		set = set.WithHelmReleases(append(j.releases.all, j.custom.all...)...)
	}
	return set, nil
}

// joiner collects the content of files.
type joiner struct {
	clusters                       itemsOf[Cluster]
	applications, releases, custom itemsOf[Application]
	hasApplications, hasReleases   bool
	// hasHealth reports that an Application says whether it is healthy.
	hasHealth bool
	// closed and engines are the first file's.
	closed, engines item[bool]
}

// read adds a file's facts.
func (j *joiner) read(file int, f File) error {
	doc, err := yamldoc.Parse(f.Name, f.Data)
	if err != nil {
		return err
	}
	r := yamldoc.NewReader(doc)
	if doc.Root.IsNull() { // a failed export or half a write, not a file without facts
		r.Add(problem.InvalidValue, doc.Root, "the facts file", "is empty", "a map of kind Facts")
	}
	root := r.Map(doc.Root, "the facts file")
	root.Known("apiVersion", "kind", "closed", "clusters", "applications", "helmReleases", "kustomizations")
	root.Const("apiVersion", "argosy.dev/v1alpha1")
	root.Const("kind", "Facts")
	in := reader{r: r, doc: doc, file: file}
	for _, node := range root.List("applications") {
		j.hasHealth = j.hasHealth || node.Get("healthy") != nil
	}
	for i, node := range root.List("clusters") {
		m := r.Map(node, fmt.Sprintf("cluster %d", i+1))
		m.Known("name", "server", "labels", "annotations")
		c := Cluster{Name: m.String("name"), Server: m.String("server"), Labels: m.StringMap("labels"), Annotations: m.StringMap("annotations")}
		add(in, &j.clusters, node, c.Name, c, Cluster.difference)
	}
	in.engine(&j.applications, "", root.List("applications"), "controller", "grant", "digest", "healthy")
	in.engine(&j.releases, "", root.List("helmReleases"), "owner", "suspended", "digest", "healthy")
	in.engine(&j.custom, Kustomization, root.List("kustomizations"), "owner", "suspended", "digest", "healthy")
	applications, releases := root.Has("applications"), root.Has("helmReleases") || root.Has("kustomizations")
	j.hasApplications, j.hasReleases = j.hasApplications || applications, j.hasReleases || releases
	in.alike(&j.closed, "closed: true", root.Bool("closed", false), "it in all files of facts, or in none")
	in.alike(&j.engines, "what the engine has", applications || releases, "applications, helmReleases or kustomizations in all files of facts, or in none")
	return r.Err()
}

// reader reads one of the files.
type reader struct {
	r    *yamldoc.Reader
	doc  *yamldoc.Doc
	file int
}

// engine adds an engine's objects; more are the keys that only its kind of object has.
func (in reader) engine(to *itemsOf[Application], kind string, nodes []*yamldoc.Node, more ...string) {
	for i, node := range nodes {
		m := in.r.Map(node, fmt.Sprintf("%s %d", to.what, i+1))
		m.Known(append([]string{"name", "cluster", "group", "component", "release", "cascade"}, more...)...)
		a := Application{
			Name: m.String("name"), Kind: kind, Cluster: m.String("cluster"), Group: m.String("group"), Component: m.String("component"),
			Release: m.String("release"), Owner: m.String("owner"), Cascade: m.Bool("cascade", false), Suspended: m.Bool("suspended", false),
			Controller: m.String("controller"), Grant: m.Bool("grant", false), Digest: m.String("digest"), Healthy: m.Bool("healthy", false),
		}
		add(in, to, node, a.Name, a, Application.difference)
	}
}

// alike reports a file where only it or only the first file says something of itself.
func (in reader) alike(first *item[bool], subject string, says bool, expected string) {
	here := item[bool]{in.doc.Pos(in.doc.Root), in.file, says}
	switch {
	case in.file == 0:
		*first = here
	case says && !first.value:
		in.r.AddAt(problem.InvalidValue, here.pos, subject, "is said here, and not by "+first.pos.File, expected)
	case !says && first.value:
		in.r.AddAt(problem.InvalidValue, here.pos, subject, "is said by "+first.pos.File+", and not here", expected)
	}
}

// item is an entry of a file.
type item[T any] struct {
	pos   problem.Pos
	file  int
	value T
}

// itemsOf collects the items of a kind, each once.
type itemsOf[T any] struct {
	what string
	all  []T
	seen map[string]item[T]
}

// add takes an item. It reports an item without a name, one that a file has twice, and one that
// differs between two files.
func add[T any](in reader, to *itemsOf[T], node *yamldoc.Node, name string, value T, difference func(T, T) string) {
	first, dup := to.seen[name]
	subject := fmt.Sprintf("%s %q", to.what, name)
	switch {
	case strings.TrimSpace(name) == "":
		in.r.Add(problem.InvalidValue, node, `key "name"`, "missing or empty", "the "+to.what+"'s name")
	case dup && first.file == in.file:
		in.r.Add(problem.InvalidValue, node, subject, "listed twice, first at "+first.pos.String(), "each "+to.what+" once")
	case dup:
		if differs := difference(first.value, value); differs != "" {
			in.r.Add(problem.InvalidValue, node, subject, fmt.Sprintf("is not as at %s: %s", first.pos, differs), "the same in both files, or one file with it")
		}
	default:
		to.seen[name] = item[T]{in.doc.Pos(node), in.file, value}
		to.all = append(to.all, value)
	}
}
