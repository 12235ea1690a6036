package roots

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Chart is an Application of charts/hub.
type Chart struct {
	// Hub and RepoURL are what the service is told: the hub's name and the fleet repository.
	Hub, RepoURL string
	// IsOwn tells that it is the chart of this program, which expansion follows.
	IsOwn bool
	Pos   problem.Pos

	values *yamldoc.Node
	open   bool
}

// chartName is the name of charts/hub, in a registry or a folder.
const chartName = "hub"

// The defaults of charts/hub; a test compares them with its values.yaml.
var (
	defaultGroups  = []string{"addons", "fleet", "monitoring", "resources"}
	defaultAgents  = []string{"argocd", "flux"}
	defaultProject = "platform"
)

const defaultComponentProject = "{{ .tenant }}"

// ChartsOf are the sources of an Application that are charts/hub.
func ChartsOf(application map[string]any) (out []Chart) {
	spec := yamldoc.FromAny(nil, application).Get("spec")
	sources := []*yamldoc.Node{spec.Get("source")}
	if several := spec.Get("sources"); several != nil {
		sources = several.Items()
	}
	for _, s := range sources {
		if c, ok := readChart(s); ok {
			out = append(out, c)
		}
	}
	return out
}

// readChart reads an Application's source, if it is charts/hub.
func readChart(source *yamldoc.Node) (Chart, bool) {
	if text(source, "chart") != chartName && !strings.HasSuffix(text(source, "path"), "charts/"+chartName) {
		return Chart{}, false
	}
	c := Chart{Pos: source.Pos(), IsOwn: charts.IsOwn(text(source, "repoURL"), text(source, "chart"), text(source, "targetRevision"))}
	helm := source.Get("helm")
	if values := helm.Get("values"); !values.IsNull() {
		doc, err := yamldoc.ParseLenient("values", []byte(values.Text()), nil)
		if err != nil {
			c.open = true
		} else {
			c.values = doc.Root
		}
	}
	if values := helm.Get("valuesObject"); values.IsMap() {
		c.values = values // Argo CD prefers it
	}
	c.open = c.open || helm.Get("valueFiles") != nil || helm.Get("parameters") != nil || helm.Get("fileParameters") != nil
	c.Hub, c.RepoURL = text(c.values, "service", "hub"), text(c.values, "service", "source", "git", "url")
	return c, true
}

// on reports whether a switch of the chart, which is on by default, is on.
func (c Chart) on(keys ...string) bool {
	return text(c.values, keys...) != "false"
}

// list is a list of texts, or the chart's default.
func (c Chart) list(standard []string, keys ...string) []string {
	n := at(c.values, keys...)
	if n.IsNull() || n.Kind != yamldoc.List {
		return standard
	}
	out := []string{}
	for _, item := range n.Items() {
		out = append(out, item.Text())
	}
	return out
}

// Queries are what the chart's roots ask.
func (c Chart) Queries() []Query {
	if !c.on("install", "roots") {
		return nil
	}
	out := []Query{{View: "members", Hub: c.Hub, TakesChart: true, Pos: c.Pos}}
	for _, g := range c.list(defaultGroups, "roots", "groups") {
		out = append(out, Query{View: "releases", Group: g, Hub: c.Hub, TakesChart: true, Pos: c.Pos})
	}
	if len(c.list(defaultAgents, "roots", "agents")) > 0 {
		out = append(out, Query{View: "agents", Hub: c.Hub, Pos: c.Pos}, Query{View: "grants", Hub: c.Hub, Pos: c.Pos})
	}
	return out
}

// SourceRepos are the repositories that a project of the chart admits, unless it has a list of its
// own.
func (c Chart) SourceRepos() []string {
	registry := text(c.values, "charts", "repoURL")
	if registry == "" {
		registry = charts.Registry
	}
	out := slices.Concat([]string{c.RepoURL, strings.TrimPrefix(registry, "oci://")},
		c.list(texts(defaults().Get("projects").Get("catalogRepos")), "projects", "catalogRepos"), c.list(nil, "projects", "sourceRepos"))
	slices.Sort(out)
	return slices.Compact(out)
}

// ClusterKind is a kind without a namespace, or a pattern of kinds.
type ClusterKind struct{ Group, Kind string }

// ClusterKinds are the kinds without a namespace that the chart's projects admit by default.
func ClusterKinds() (out []ClusterKind) {
	for _, kind := range defaults().Get("projects").Get("clusterResources").Items() {
		out = append(out, ClusterKind{text(kind, "group"), text(kind, "kind")})
	}
	return out
}

// defaults are the values of charts/hub.
var defaults = sync.OnceValue(func() *yamldoc.Node {
	data, err := charts.Files.ReadFile(chartName + "/values.yaml")
	if err != nil {
		panic(err) //nolint:forbidigo // it is embedded
	}
	doc, err := yamldoc.Parse(chartName, data)
	if err != nil {
		panic(err) //nolint:forbidigo // a test reads it
	}
	return doc.Root
})

// Open reports whether more than the Application's values decide on what the chart makes.
func (c Chart) Open() bool { return c.open }

// chart adds what the chart makes.
func (r *Roots) chart(c Chart) {
	r.Charts = append(r.Charts, c)
	r.Open = r.Open || c.open || at(c.values, "extraObjects") != nil
	r.Queries = append(r.Queries, c.Queries()...)
	if c.RepoURL != "" {
		r.Sources = append(r.Sources, Source{RepoURL: c.RepoURL, Path: path.Join(Folder, c.Hub), Pos: c.Pos})
	}
	platform := text(c.values, "projects", "platform")
	if platform == "" {
		platform = defaultProject
	}
	if c.on("install", "projects") {
		r.Projects[platform] = c.Pos
		if !c.open {
			r.Admits[platform] = c.SourceRepos()
		}
		if tenants := at(c.values, "projects", "tenants"); tenants.IsMap() {
			for _, f := range tenants.Fields() {
				r.Projects[f.Key] = c.Pos
				if !c.open {
					r.Admits[f.Key] = c.SourceRepos()
				}
				if own := f.Value.Get("sourceRepos"); own != nil {
					r.Admits[f.Key] = texts(own)
				}
			}
		}
	}
	if !c.on("install", "roots") {
		return
	}
	component := text(c.values, "roots", "componentProject")
	if component == "" {
		component = defaultComponentProject
	}
	groups := slices.Clone(c.list(defaultGroups, "roots", "groups"))
	r.Uses = append(r.Uses, Project{Name: platform, Pos: c.Pos})
	for _, g := range groups {
		r.Uses = append(r.Uses, Project{Name: component, View: "components", Group: g, Pos: c.Pos})
	}
}
