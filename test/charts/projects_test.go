package charts_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// inCluster is the hub as its own Argo CD knows it.
const inCluster = "https://kubernetes.default.svc"

// projectsOf are the projects of a hub, checked as Argo CD's API server does.
func projectsOf(t *testing.T, hub string) map[string]v1alpha1.AppProject {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repo, "fleet/bootstrap", hub, "projects.yaml"))
	require.NoError(t, err)
	out := map[string]v1alpha1.AppProject{}
	for _, doc := range documents(string(data)) {
		var project v1alpha1.AppProject
		require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &project))
		validateCustomResource(t, doc)
		assert.NoError(t, project.ValidateProject(), "%s", project.Name)
		if project.Kind != "AppProject" || project.Namespace != "argocd" || project.Spec.Description == "" {
			t.Errorf("%s %s/%s, described as %q", project.Kind, project.Namespace, project.Name, project.Spec.Description)
		}
		// The root ApplicationSets are in wave 0 and name these.
		assert.Equal(t, "-1", project.Annotations["argocd.argoproj.io/sync-wave"], "%s: wave", project.Name)
		out[project.Name] = project
	}
	return out
}

// reaches says whether a project permits a destination, as Argo CD sees it: with server and name.
func reaches(t *testing.T, project v1alpha1.AppProject, name, server, namespace string) bool {
	t.Helper()
	ok, err := project.IsDestinationPermitted(v1alpha1.ApplicationDestination{Name: name, Server: server, Namespace: namespace},
		func(string) ([]*v1alpha1.Cluster, error) { return nil, nil })
	require.NoError(t, err)
	return ok
}

// A tenant's project reaches the tenant's clusters and no other, and platform the hub alone.
func TestProjectsKeepTenantsApart(t *testing.T) {
	_, state := newEngine(t)
	for _, hub := range []string{"hub-eu", "hub-us"} {
		projects := projectsOf(t, hub)
		tenants := map[string]string{hub: "platform"}
		for _, m := range state.Fleet.Members(hub) {
			tenants[m.Name] = m.Tenant
		}
		for cluster, tenant := range tenants {
			if _, ok := projects[tenant]; !ok {
				t.Errorf("%s: no project for the tenant %s of %s", hub, tenant, cluster)
			}
			server := "https://" + cluster + ".example.com"
			if cluster == hub {
				server = inCluster
			}
			for name, project := range projects {
				assert.Equal(t, name == tenant, reaches(t, project, cluster, server, "argocd"), "%s: project %s reaches %s of the tenant %s", hub, name, cluster, tenant)
			}
		}
	}
}

// TestTenantsSeeTheirOwnApplications: what a tenant's group may do in Argo CD is a role of its own
// project, and names that project alone; the hub's own policy names the platform alone, and gives
// nothing to users without a group.
func TestTenantsSeeTheirOwnApplications(t *testing.T) {
	for _, hub := range []string{"hub-eu", "hub-us"} {
		for name, project := range projectsOf(t, hub) {
			if want := name != "platform"; (len(project.Spec.Roles) > 0) != want {
				t.Errorf("%s: project %s has %d roles", hub, name, len(project.Spec.Roles))
			}
			for _, role := range project.Spec.Roles {
				for _, policy := range role.Policies {
					fields := strings.Split(policy, ", ")
					if len(fields) != 6 || fields[1] != "proj:"+name+":"+role.Name || fields[2] != "applications" || fields[4] != name+"/*" {
						t.Errorf("%s: project %s: %s", hub, name, policy)
					}
				}
			}
		}
		_, state := newEngine(t)
		checked := false
		for _, s := range setsOf(t, state, hub, "fleet") {
			if s.Component != "argo-cd" {
				continue
			}
			checked = true
			var values struct {
				Configs struct {
					RBAC map[string]string `json:"rbac"`
				} `json:"configs"`
			}
			require.NoError(t, yaml.Unmarshal([]byte(s.HelmValues), &values))
			if rbac := values.Configs.RBAC; rbac["policy.default"] != "" || rbac["policy.csv"] != "g, platform, role:admin\n" {
				t.Errorf("%s: policy %q", hub, rbac)
			}
		}
		if !checked {
			t.Errorf("%s: no Argo CD of its own", hub)
		}
	}
}

// Every Application of this repository's fleet, from the root ApplicationSets to the components, is
// permitted by its project: repositories, destination and, for the charts of this repository, the
// kinds that have no namespace.
func TestProjectsPermitTheFleet(t *testing.T) {
	url, state := newEngine(t)
	a := newArgoCD(t, url)
	for _, hub := range []string{"hub-eu", "hub-us"} {
		_, projects := enforcer(t, state, hub)
		used := map[string]bool{}
		teams := map[string]string{"checkout-api": "team-checkout", "storefront-web": "team-storefront", "storefront-metrics": "team-storefront"}
		check := func(app v1alpha1.Application, want string) {
			t.Helper()
			project, ok := projects[app.Spec.Project]
			if !ok || app.Spec.Project != want {
				t.Errorf("%s: %s is in project %q, want %q", hub, app.Name, app.Spec.Project, want)
				return
			}
			used[app.Spec.Project] = true
			d := app.Spec.Destination
			name, server := d.Name, d.Server
			switch {
			case server == inCluster:
				name = "in-cluster"
			case name == hub:
				server = inCluster
			default:
				server = "https://" + name + ".example.com"
			}
			if !reaches(t, project, name, server, d.Namespace) {
				t.Errorf("%s: project %s does not reach %s/%s, where %s goes", hub, project.Name, name, d.Namespace, app.Name)
			}
			for _, source := range app.Spec.GetSources() {
				if !project.IsSourcePermitted(source) {
					t.Errorf("%s: project %s does not permit %s of %s", hub, project.Name, source.RepoURL, app.Name)
				}
				if strings.HasPrefix(source.Path, "charts/") {
					permitsKinds(t, project, app.Name, source)
				}
			}
		}
		tenantOf := map[string]string{hub: "platform"}
		for _, m := range state.Fleet.Members(hub) {
			tenantOf[m.Name] = m.Tenant
		}
		root := func(name string) []v1alpha1.Application {
			return generate(t, a, rootSets(t, filepath.Join(repo, "fleet/bootstrap", hub, name+".yaml"))[0])
		}
		for _, app := range root("members") {
			check(app, "platform")
		}
		for _, name := range []string{"agents", "agents-flux", "grants", "grants-flux"} {
			for _, app := range root(name) {
				check(app, tenantOf[app.Spec.Destination.Name])
			}
		}
		for _, group := range fleetGroups {
			for _, release := range root(group) {
				check(release, "platform")
				for _, app := range releaseApplications(t, a, release, map[string]string{}) {
					check(app, cmp.Or(teams[app.Labels["argosy.dev/component"]], tenantOf[app.Spec.Destination.Name]))
				}
			}
		}
		for name := range projects {
			if !used[name] {
				t.Errorf("%s: no Application is in project %s", hub, name)
			}
		}
	}
}

// permitsKinds: what a chart of this repository creates without a namespace is on the project's
// list.
func permitsKinds(t *testing.T, project v1alpha1.AppProject, app string, source v1alpha1.ApplicationSource) {
	t.Helper()
	files := make([]string, 0, len(source.Helm.ValueFiles)+1)
	for _, file := range source.Helm.ValueFiles {
		files = append(files, filepath.Join(repo, source.Path, file))
	}
	docs, _, err := rendering{}.render(filepath.Join(repo, source.Path), append(files, valuesFile(t, source.Helm.Values))...)
	require.NoError(t, err, "%s", app)
	for _, doc := range docs {
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(doc), &object.Object))
		kind := object.GroupVersionKind().GroupKind()
		if object.GetNamespace() == "" && !project.IsGroupKindPermitted(kind, false) {
			t.Errorf("%s: project %s does not permit %s %s", app, project.Name, kind, object.GetName())
		}
	}
}

// Every chart repository of the catalogs is permitted to every project that has members: a
// component that is switched on later needs no other change. The kinds are those of the catalogs'
// charts as they are known.
func TestProjectsPermitTheCatalogs(t *testing.T) {
	kinds := []schema.GroupKind{
		{Kind: "Namespace"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		{Group: "apiregistration.k8s.io", Kind: "APIService"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
		{Group: "networking.k8s.io", Kind: "IngressClass"},
		{Group: "elbv2.k8s.aws", Kind: "IngressClassParams"},
		{Group: "scheduling.k8s.io", Kind: "PriorityClass"},
		{Group: "storage.k8s.io", Kind: "CSIDriver"},
		{Group: "storage.k8s.io", Kind: "StorageClass"},
		{Group: "apiextensions.crossplane.io", Kind: "CompositeResourceDefinition"},
		{Group: "apiextensions.crossplane.io", Kind: "Composition"},
		{Group: "aws.upbound.io", Kind: "ProviderConfig"},
		{Group: "pkg.crossplane.io", Kind: "DeploymentRuntimeConfig"},
		{Group: "pkg.crossplane.io", Kind: "Function"},
		{Group: "pkg.crossplane.io", Kind: "Provider"},
	}
	for _, hub := range []string{"hub-eu", "hub-us"} {
		for name, project := range projectsOf(t, hub) {
			for _, group := range fleetGroups {
				for component, e := range entries(t, group) {
					if !project.IsSourcePermitted(v1alpha1.ApplicationSource{RepoURL: e.Chart.RepoURL}) {
						t.Errorf("%s: project %s does not permit %s of %s", hub, name, e.Chart.RepoURL, component)
					}
				}
			}
			for _, kind := range kinds {
				if !project.IsGroupKindPermitted(kind, false) {
					t.Errorf("%s: project %s does not permit %s", hub, name, kind)
				}
			}
			if project.IsGroupKindPermitted(schema.GroupKind{Kind: "Node"}, false) {
				t.Errorf("%s: project %s permits any kind", hub, name)
			}
		}
	}
}

// A member's own Argo CD has the project that Argo CD makes by itself, and what its ApplicationSets
// make is in it.
func TestAgentsUseTheProjectDefault(t *testing.T) {
	url, state := newEngine(t)
	a := newArgoCD(t, url)
	body, err := response.Bytes(state, query.Query{View: query.Agents, Hub: "hub-eu"})
	require.NoError(t, err)
	var sets struct {
		Output struct{ Parameters []paramset.AgentSet }
	}
	require.NoError(t, json.Unmarshal(body, &sets))
	seen := 0
	for _, s := range sets.Output.Parameters {
		if s.Engine != "argocd" {
			continue
		}
		out, err := helmTemplate(repo+"/charts/agent-bootstrap", valuesFile(t, fmt.Sprintf("hub: hub-eu\nowner: %s\ngroups: [addons]\n", s.Name)))
		require.NoError(t, err)
		for _, release := range generate(t, a, decode(t, out)[0]) {
			for _, app := range append(releaseApplications(t, a, release, map[string]string{}), release) {
				seen++
				if app.Spec.Project != v1alpha1.DefaultAppProjectName {
					t.Errorf("%s is in project %q", app.Name, app.Spec.Project)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no agent with an Argo CD of its own")
	}
}
