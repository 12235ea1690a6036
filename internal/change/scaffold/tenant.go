package scaffold

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/bootstrap"
)

// Tenant describes a new tenant of a hub: its project in Argo CD.
type Tenant struct {
	Hub, Tenant string
	// ClusterPatterns are the names of its clusters, with *; default <tenant>-*.
	ClusterPatterns []string
}

// NewTenant drafts the Argo CD project of a tenant.
func NewTenant(ctx context.Context, r Repository, t Tenant) (*Draft, error) {
	if err := checkNames(named{"name", t.Tenant}); err != nil {
		return nil, err
	}
	d, st, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	if d.layout.IsReserved("tenant", t.Tenant) {
		return nil, refuse("--name: tenant %q: a folder of the hierarchy is called so; expected another name", t.Tenant)
	}
	hubs := st.Fleet.Hubs()
	switch {
	case t.Hub == "" && len(hubs) == 1:
		t.Hub = hubs[0]
	case t.Hub == "":
		return nil, refuse("--hub is missing; expected one of %s", strings.Join(hubs, ", "))
	}
	if err := oneOf("--hub", t.Hub, "hubs", hubs); err != nil {
		return nil, err
	}
	if t.Tenant == "default" {
		return nil, refuse("--name: %q is Argo CD's own project, which permits everything", t.Tenant)
	}
	hubRoots := bootstrap.Of(expand.New(expand.Options{State: st, Snapshot: d.before, Hub: t.Hub, Tools: r.Tools}))
	if pos, there := hubRoots.Projects[t.Tenant]; there {
		return nil, refuse("tenant %q is there already: hub %s has its project at %s", t.Tenant, t.Hub, pos)
	}
	if len(t.ClusterPatterns) == 0 {
		t.ClusterPatterns = []string{t.Tenant + "-*"}
	}
	for _, m := range st.Fleet.Members(t.Hub) {
		for _, p := range t.ClusterPatterns {
			reaches, err := path.Match(p, m.Name)
			switch {
			case err != nil || p == "" || strings.ContainsAny(p, "/\\ "):
				return nil, refuse("--cluster: %q is not a pattern of cluster names, with * for any text", p)
			case reaches && m.Tenant != t.Tenant:
				return nil, problem.Usage([]string{"give its clusters by name: --cluster NAME; " + nothingWritten}, "--cluster: %q reaches %s, which is a cluster of the tenant %s", p, m.Name, m.Tenant)
			}
		}
	}
	repositories := append(chartRepositories(st, t.Hub, func(string) bool { return true }), hubRoots.Admits[hubRoots.Platform]...)
	if url, _ := repositoryOf(st); url != "" {
		repositories = append(repositories, url)
	}
	slices.Sort(repositories)
	project := map[string]any{"Tenant": t, "Repositories": slices.Compact(repositories), "Kinds": clusterKinds()}
	d.texts(project, map[string]string{path.Join(expand.Bootstrap, t.Hub, "project-"+t.Tenant+".yaml"): "project.yaml"})
	return d.ready(commit("Add the tenant "+t.Tenant),
		fmt.Sprintf("argosy new member --hub %s --name %s --tenant %s --environment ENVIRONMENT", t.Hub, strings.ReplaceAll(t.ClusterPatterns[0], "*", "NAME"), t.Tenant))
}

// clusterKinds returns the kinds without a namespace that the projects of charts/hub admit by
// default: maps of group and kind.
func clusterKinds() any {
	data, _ := charts.Files.ReadFile("hub/values.yaml") // it is embedded
	doc, err := yamldoc.Parse("hub/values.yaml", data)
	if err != nil {
		return nil // a test reads it
	}
	return doc.Root.Get("projects").Get("clusterResources").Any()
}
