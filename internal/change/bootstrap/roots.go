package bootstrap

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Query is a query that a generator sends to the plugin.
type Query struct {
	View, Group, Hub, Component string
	// Based says that it sends a catalog entry, and so the chart.
	Based bool
	// TakesChart says that its Applications deploy the chart that the release names.
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
	// View and Group name the query whose parameter sets fill the template.
	View, Group string
	Pos         problem.Pos
}

// Name is a name, or a pattern of names, and its place.
type Name struct {
	Text string
	Pos  problem.Pos
}

// Roots holds a hub's root ApplicationSets, projects and charts. The zero value has none.
type Roots struct {
	// Any says that there is at least one object.
	Any      bool
	Queries  []Query
	Sources  []Source
	Projects map[string]problem.Pos
	// Admits are the repositories that a project admits, or patterns of them.
	Admits map[string][]string
	// Reaches are the clusters among a project's destinations.
	Reaches map[string][]Name
	Uses    []Project
	// Platform is the project of charts/hub for the hub itself; empty if the chart creates none.
	Platform string
	// Charts are the installations of charts/hub, by the hub that their values name.
	Charts []Name
	// Open says that something else may create ApplicationSets and projects.
	Open bool

	hub string
}

// Of reads the objects that a hub's roots lead to.
func Of(h *expand.Hub) *Roots {
	objects, complete := h.Reached()
	r := &Roots{Any: len(h.Roots()) > 0, Open: !complete, Projects: map[string]problem.Pos{}, Admits: map[string][]string{}, Reaches: map[string][]Name{}, hub: h.Name()}
	for _, o := range objects {
		switch {
		case o.Kind() == "AppProject":
			r.project(o)
		case o.Application():
			r.application(o)
		case o.ApplicationSet():
			r.applicationSet(o)
		}
	}
	return r
}

func (r *Roots) project(o *object.Object) {
	name := o.Name()
	r.Projects[name] = At(o, "metadata", "name")
	r.Admits[name] = manifest.Strings(manifest.At(o.Tree, "spec", "sourceRepos"))
	destinations, _ := manifest.At(o.Tree, "spec", "destinations").([]any)
	for i, d := range destinations {
		if cluster := manifest.Text(d, "name"); cluster != "" {
			r.Reaches[name] = append(r.Reaches[name], Name{cluster, At(o, "spec", "destinations", strconv.Itoa(i), "name")})
		} else if ofHubChart(o) {
			r.Platform = name
		}
	}
}

func (r *Roots) application(o *object.Object) {
	if project := manifest.Text(o.Tree, "spec", "project"); project != "" {
		r.Uses = append(r.Uses, Project{Name: project, Pos: At(o, "spec", "project")})
	}
	for _, s := range o.Sources() {
		r.Sources = append(r.Sources, Source{RepoURL: s.RepoURL, Path: s.Path, Pos: At(o, append(slices.Clone(s.Field), "repoURL")...)})
		if hub, is := strings.CutPrefix(s.Path, expand.Bootstrap+"/"); is && ofHubChart(o) {
			r.Charts = append(r.Charts, Name{hub, At(o)})
		}
	}
}

// chartOfRelease matches a template that takes the address of a release's chart.
var chartOfRelease = regexp.MustCompile(`\.(source|chartRepo|chartRepoUrl)\b`)

func (r *Roots) applicationSet(o *object.Object) {
	template := manifest.At(o.Tree, "spec", "template")
	app := &object.Object{Tree: map[string]any{"spec": manifest.At(template, "spec")}}
	takesChart := chartOfRelease.MatchString(manifest.Text(o.Tree, "spec", "templatePatch"))
	for _, s := range app.Sources() {
		takesChart = takesChart || chartOfRelease.MatchString(s.RepoURL)
	}
	from := len(r.Queries)
	if !r.generators(o, manifest.At(o.Tree, "spec", "generators"), takesChart, "spec", "generators") {
		r.Open = true // its Applications may deploy ApplicationSets
	}
	var of Query
	if len(r.Queries) > from {
		of = r.Queries[from]
	}
	if project := manifest.Text(template, "spec", "project"); project != "" {
		r.Uses = append(r.Uses, Project{Name: project, View: of.View, Group: of.Group, Pos: At(o, "spec", "template", "spec", "project")})
	}
	// The chart of the group's ApplicationSets gets their project as a value.
	if name, ok := quotedProject(manifest.Text(template, "spec", "source", "helm", "values")); ok && of.View == string(query.Releases) {
		r.Uses = append(r.Uses, Project{Name: name, View: string(query.Components), Group: of.Group, Pos: At(o, "spec", "template", "spec", "source", "helm", "values")})
	}
}

// quotedProject returns the project in the values of charts/application-sets, which a root writes
// as `project: '{{ `TEMPLATE` }}'`.
func quotedProject(values string) (string, bool) {
	_, rest, found := strings.Cut(values, "project: '{{ `")
	if !found {
		return "", false
	}
	name, _, found := strings.Cut(rest, "` }}'")
	return name, found
}

// generators adds the queries of generators, and reports whether there are any.
func (r *Roots) generators(o *object.Object, list any, takesChart bool, place ...string) (found bool) {
	items, _ := list.([]any)
	for i, g := range items {
		here := append(slices.Clone(place), strconv.Itoa(i))
		if p := manifest.At(g, "plugin", "input", "parameters"); p != nil {
			r.Queries = append(r.Queries, Query{
				View: manifest.Text(p, "view"), Group: manifest.Text(p, "group"), Hub: manifest.Text(p, "hub"), Component: manifest.Text(p, "component"),
				Based: manifest.At(p, "base") != nil, TakesChart: takesChart, Pos: At(o, slices.Concat(here, []string{"plugin", "input", "parameters", "view"})...),
			})
			found = true
		}
		for _, combined := range []string{"matrix", "merge"} {
			found = r.generators(o, manifest.At(g, combined, "generators"), takesChart, slices.Concat(here, []string{combined, "generators"})...) || found
		}
	}
	return found
}

// Asks reports whether some root queries for a view, and for a group and component where given. It
// returns based if all such queries send a catalog entry.
func (r *Roots) Asks(view query.View, group, component string) (asks, based bool) {
	based = true
	for _, q := range r.Queries {
		if q.Hub != "" && q.Hub != r.hub && !strings.Contains(q.Hub, "{{") {
			continue
		}
		fits := func(asked, is string) bool {
			return asked == "" || is == "" || asked == is || strings.Contains(asked, "{{")
		}
		switch {
		case strings.Contains(q.View, "{{"):
			return true, true
		case q.View == string(view) && fits(q.Group, group) && fits(q.Component, component):
			asks, based = true, based && q.Based
		}
	}
	return asks, based && asks
}

// MayAsk reports whether a view is queried or may be queried. The group counts only for views that
// have groups.
func (r *Roots) MayAsk(view query.View, group string) bool {
	asks, _ := r.Asks(view, group, "")
	if view == query.Components && !asks { // the ApplicationSets of a release query for the components
		asks, _ = r.Asks(query.Releases, group, "")
	}
	return asks || r.Open
}

// ofHubChart reports whether charts/hub creates an object.
func ofHubChart(o *object.Object) bool {
	return !o.Written() && o.Parent != nil && slices.ContainsFunc(o.Parent.Sources(), expand.IsHubChart)
}

// At returns the place of a field: in the file that holds the object, or else the source of the
// Application there that leads to it.
func At(o *object.Object, place ...string) problem.Pos {
	for !o.Written() && o.Parent != nil {
		o, place = o.Parent, []string{"spec", "source"}
	}
	if !o.Written() {
		return o.Pos
	}
	n := o.Document.Root
	for _, key := range place {
		if i, err := strconv.Atoi(key); err == nil && n.Kind == yamldoc.List && i < len(n.Items()) {
			n = n.Items()[i]
		} else if next := n.Get(key); next != nil {
			n = next
		}
	}
	return n.Pos()
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
