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

// tenantProject is a tenant with what its project admits.
type tenantProject struct {
	Tenant
	Repositories []string
	Kinds        []clusterKind
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
		return nil, problem.Usage([]string{nothingWritten}, "--name: tenant %q: a folder of the hierarchy is called so; expected another name", t.Tenant)
	}
	if hubs := st.Fleet.Hubs(); t.Hub == "" && len(hubs) == 1 {
		t.Hub = hubs[0]
	} else if t.Hub == "" {
		return nil, problem.Usage([]string{nothingWritten}, "--hub is missing; expected one of %s", strings.Join(hubs, ", "))
	} else if !slices.Contains(hubs, t.Hub) {
		return nil, problem.Usage(append(problem.Nearest(t.Hub, hubs), nothingWritten), "--hub: %q is not one of the hubs %s", t.Hub, strings.Join(hubs, ", "))
	}
	if t.Tenant == "default" {
		return nil, problem.Usage([]string{nothingWritten}, "--name: %q is Argo CD's own project, which permits everything", t.Tenant)
	}
	hubRoots := bootstrap.Of(expand.New(expand.Options{State: st, Snapshot: d.before, Hub: t.Hub, Tools: r.Tools}))
	if pos, there := hubRoots.Projects[t.Tenant]; there {
		return nil, problem.Usage([]string{nothingWritten}, "tenant %q is there already: hub %s has its project at %s", t.Tenant, t.Hub, pos)
	}
	if len(t.ClusterPatterns) == 0 {
		t.ClusterPatterns = []string{t.Tenant + "-*"}
	}
	for _, m := range st.Fleet.Members(t.Hub) {
		for _, p := range t.ClusterPatterns {
			reaches, err := path.Match(p, m.Name)
			switch {
			case err != nil || p == "" || strings.ContainsAny(p, "/\\ "):
				return nil, problem.Usage([]string{nothingWritten}, "--cluster: %q is not a pattern of cluster names, with * for any text", p)
			case reaches && m.Tenant != t.Tenant:
				return nil, problem.Usage([]string{"give its clusters by name: --cluster NAME; " + nothingWritten}, "--cluster: %q reaches %s, which is a cluster of the tenant %s", p, m.Name, m.Tenant)
			}
		}
	}
	p := tenantProject{Tenant: t, Repositories: chartRepositories(st, t.Hub, func(string) bool { return true }), Kinds: clusterKinds()}
	p.Repositories = append(p.Repositories, hubRoots.Admits[hubRoots.Platform]...)
	if url, _ := repositoryOf(st); url != "" {
		p.Repositories = append(p.Repositories, url)
	}
	slices.Sort(p.Repositories)
	p.Repositories = slices.Compact(p.Repositories)
	if err := d.texts(p, map[string]string{path.Join(expand.Bootstrap, t.Hub, "project-"+t.Tenant+".yaml"): "project.yaml"}); err != nil {
		return nil, err
	}
	if _, err := d.try(); err != nil {
		return nil, err
	}
	d.Next = []string{
		"git add . && git commit -m \"Add the tenant " + t.Tenant + "\" && git push",
		fmt.Sprintf("argosy new member --hub %s --name %s --tenant %s --environment ENVIRONMENT", t.Hub, strings.ReplaceAll(t.ClusterPatterns[0], "*", "NAME"), t.Tenant),
	}
	return d, nil
}

// clusterKind is a kind without a namespace, or a pattern of kinds.
type clusterKind struct{ Group, Kind string }

// clusterKinds returns the kinds that the projects of charts/hub admit by default.
func clusterKinds() (out []clusterKind) {
	data, _ := charts.Files.ReadFile("hub/values.yaml") // it is embedded
	doc, err := yamldoc.Parse("hub/values.yaml", data)
	if err != nil {
		return nil // a test reads it
	}
	for _, kind := range doc.Root.Get("projects").Get("clusterResources").Items() {
		out = append(out, clusterKind{kind.Get("group").Text(), kind.Get("kind").Text()})
	}
	return out
}
