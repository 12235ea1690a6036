package roots

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Folder is the folder of the roots: a file and a folder for each hub.
const Folder = "fleet/bootstrap"

// Query is what a generator asks the plugin.
type Query struct {
	View, Group, Hub, Component string
	// Based says that it sends a catalog entry, and so the chart.
	Based bool
	// TakesChart says that its Applications are of the chart that the release names.
	TakesChart bool
	Pos        problem.Pos
}

// Source is a repository that an Application reads.
type Source struct {
	RepoURL, Path string
	Pos           problem.Pos
}

// Project is a project that an ApplicationSet or an Application names, perhaps as a template.
type Project struct {
	Name string
	// View and Group are those of the query whose parameter sets fill the template.
	View, Group string
	Pos         problem.Pos
}

// Roots are those of a hub. The zero value is that of a hub without any.
type Roots struct {
	// Any says that there is an object.
	Any      bool
	Queries  []Query
	Sources  []Source
	Projects map[string]problem.Pos
	// Admits are the repositories that a project admits, or patterns of them, where they are known.
	Admits map[string][]string
	// Reaches are the names of clusters, or patterns of them, among a project's destinations.
	Reaches map[string][]*yamldoc.Node
	Uses    []Project
	// Charts are the Applications of charts/hub.
	Charts []Chart
	// Open says that something else may make ApplicationSets and projects.
	Open bool
}

// Read reads the roots of a hub.
func Read(s *snapshot.Snapshot, hub string) *Roots {
	r := &Roots{Projects: map[string]problem.Pos{}, Admits: map[string][]string{}, Reaches: map[string][]*yamldoc.Node{}}
	own := path.Join(Folder, hub)
	files := s.Under(own)
	if s.File(own+".yaml") != nil {
		files = append([]string{own + ".yaml"}, files...)
	}
	for _, p := range files {
		switch base := path.Base(p); {
		case base == "kustomization.yaml" || base == "kustomization.yml" || base == "Chart.yaml":
			r.Open = true
		case slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(p)):
			for _, doc := range documents(s.File(p)) {
				r.object(doc, own)
			}
		}
	}
	return r
}

// documents are those of a file that can be read; package expand reports the others.
func documents(f *snapshot.File) (out []*yamldoc.Node) {
	if f == nil || f.Err != nil {
		return nil
	}
	lines := strings.SplitAfter(string(f.Data), "\n")
	first := 0
	add := func(until int) {
		doc, err := yamldoc.ParseLenient(f.Path, []byte(strings.Repeat("\n", first)+strings.Join(lines[first:until], "")), nil)
		if err == nil && doc.Root.IsMap() {
			out = append(out, doc.Root)
		}
	}
	for i, line := range lines {
		if yamldoc.Separates(line) {
			add(i)
			first = i + 1
		}
	}
	add(len(lines))
	return out
}

// object adds a Kubernetes object.
func (r *Roots) object(n *yamldoc.Node, own string) {
	kind := text(n, "kind")
	if kind == "" {
		return
	}
	r.Any = true
	switch {
	case strings.HasSuffix(kind, "List"):
		if items := n.Get("items"); items != nil {
			for _, item := range items.Items() {
				r.object(item, own)
			}
		}
	case kind == "AppProject":
		name := text(n, "metadata", "name")
		r.Projects[name] = at(n, "metadata", "name").Pos()
		r.Admits[name] = texts(at(n, "spec", "sourceRepos"))
		if to := at(n, "spec", "destinations"); to != nil {
			for _, d := range to.Items() {
				if cluster := d.Get("name"); cluster != nil {
					r.Reaches[name] = append(r.Reaches[name], cluster)
				}
			}
		}
	case kind == "Application":
		r.application(n, own)
	case kind == "ApplicationSet":
		r.applicationSet(n)
	}
}

func (r *Roots) applicationSet(n *yamldoc.Node) {
	from := len(r.Queries)
	if !r.generators(at(n, "spec", "generators")) {
		r.Open = true // its Applications may be anything
	}
	for i := range r.Queries[from:] {
		r.Queries[from+i].TakesChart = takesChart(n.Get("spec"))
	}
	project := at(n, "spec", "template", "spec", "project")
	var of Query
	if len(r.Queries) > from {
		of = r.Queries[from]
	}
	if project != nil {
		r.Uses = append(r.Uses, Project{Name: project.Text(), View: of.View, Group: of.Group, Pos: project.Pos()})
	}
	// The chart of the group's ApplicationSets gets their project as a value.
	if values := at(n, "spec", "template", "spec", "source", "helm", "values"); values != nil {
		if name, ok := quotedProject(values.Text()); ok && of.View == "releases" {
			r.Uses = append(r.Uses, Project{Name: name, View: "components", Group: of.Group, Pos: values.Pos()})
		}
	}
}

// chartOfRelease matches a template that takes the address of a release's chart.
var chartOfRelease = regexp.MustCompile(`\.(source|chartRepo|chartRepoUrl)\b`)

// takesChart reports whether an ApplicationSet's Applications have the chart of a parameter set.
func takesChart(spec *yamldoc.Node) bool {
	of := at(spec, "template", "spec")
	sources := []*yamldoc.Node{of.Get("source")}
	if several := of.Get("sources"); several != nil {
		sources = append(sources, several.Items()...)
	}
	return chartOfRelease.MatchString(text(spec, "templatePatch")) ||
		slices.ContainsFunc(sources, func(s *yamldoc.Node) bool { return chartOfRelease.MatchString(text(s, "repoURL")) })
}

// quotedProject is the project in the values of charts/application-sets, which a root writes as
// `project: '{{ `TEMPLATE` }}'`.
func quotedProject(values string) (string, bool) {
	_, rest, found := strings.Cut(values, "project: '{{ `")
	if !found {
		return "", false
	}
	name, _, found := strings.Cut(rest, "` }}'")
	return name, found
}

// generators adds the queries of generators, and reports whether the plugin is all that they ask.
func (r *Roots) generators(list *yamldoc.Node) bool {
	only := true
	if list == nil {
		return only
	}
	for _, g := range list.Items() {
		if !g.IsMap() {
			continue
		}
		for _, f := range g.Fields() {
			switch f.Key {
			case "plugin":
				if p := at(f.Value, "input", "parameters"); p != nil {
					q := Query{View: text(p, "view"), Group: text(p, "group"), Hub: text(p, "hub"), Component: text(p, "component"), Based: p.Get("base") != nil, Pos: p.Pos()}
					if v := p.Get("view"); v != nil {
						q.Pos = v.Pos()
					}
					r.Queries = append(r.Queries, q)
				}
			case "matrix", "merge":
				only = r.generators(f.Value.Get("generators")) && only
			case "selector":
			default:
				only = false
			}
		}
	}
	return only
}

func (r *Roots) application(n *yamldoc.Node, own string) {
	spec := n.Get("spec")
	sources := []*yamldoc.Node{spec.Get("source")}
	if several := spec.Get("sources"); several != nil {
		sources = several.Items()
	}
	if p := spec.Get("project"); p != nil {
		r.Uses = append(r.Uses, Project{Name: p.Text(), Pos: p.Pos()})
	}
	for _, s := range sources {
		if !s.IsMap() {
			continue
		}
		if url := s.Get("repoURL"); url != nil {
			r.Sources = append(r.Sources, Source{RepoURL: url.Text(), Path: text(s, "path"), Pos: url.Pos()})
		}
		if chart, ok := readChart(s); ok {
			r.chart(chart)
			continue
		}
		if path.Clean(text(s, "path")) != own {
			r.Open = true
		}
	}
}

func at(n *yamldoc.Node, keys ...string) *yamldoc.Node {
	for _, key := range keys {
		n = n.Get(key)
	}
	return n
}

// texts are the texts of a list.
func texts(n *yamldoc.Node) []string {
	out := []string{}
	if !n.IsNull() {
		for _, item := range n.Items() {
			out = append(out, item.Text())
		}
	}
	return out
}

// Admit reports whether a list of an AppProject's sourceRepos admits a repository, as Argo CD does:
// * stands for any text, and an entry that begins with ! refuses what it names.
func Admit(list []string, repoURL string) bool {
	admitted := false
	for _, pattern := range list {
		refused, isRefusal := strings.CutPrefix(pattern, "!")
		if isRefusal && covers(refused, repoURL) {
			return false
		}
		admitted = admitted || !isRefusal && covers(pattern, repoURL)
	}
	return admitted
}

// covers reports whether a pattern names a repository, with or without the scheme of registries.
func covers(pattern, repoURL string) bool {
	plain := func(url string) string {
		return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(url, "oci://"), ".git"))
	}
	parts := strings.Split(plain(pattern), "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	is, err := regexp.MatchString("^"+strings.Join(parts, ".*")+"$", plain(repoURL))
	return is && err == nil
}

func text(n *yamldoc.Node, keys ...string) string {
	if v := at(n, keys...); !v.IsNull() {
		return v.Text()
	}
	return ""
}
