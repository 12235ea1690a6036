package charts_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// newHub is the least that an installation needs.
const newHub = "service: {hub: hub-eu, source: {git: {url: https://github.com/argosy-hub/argosy}}}\n"

func TestHubGoldens(t *testing.T) { chartGoldens(t, hubChart) }

// TestHubRootsAreThoseOfTheExample: the roots that the chart renders are, object by object, those
// that the example fleet has in fleet/bootstrap/hub-eu.
func TestHubRootsAreThoseOfTheExample(t *testing.T) {
	rendered := map[string]*v1alpha1.ApplicationSet{}
	for _, set := range all[*v1alpha1.ApplicationSet](rendering{}.objects(t, hubChart, newHub,
		"roots: {groups: ["+strings.Join(fleetGroups, ", ")+"]}\n",
		"charts: {repoURL: https://github.com/argosy-hub/argosy, path: charts, version: main, git: {ref: {branch: main}}}\n")) {
		rendered[set.Name] = set
	}
	examples := 0
	for _, path := range glob(t, repo+"/fleet/bootstrap/hub-eu/*.yaml") {
		if filepath.Base(path) == "projects.yaml" {
			continue
		}
		for _, want := range rootSets(t, path) {
			examples++
			got := rendered[want.Name]
			if got == nil {
				t.Errorf("the chart renders no ApplicationSet %s", want.Name)
				continue
			}
			for _, set := range []*v1alpha1.ApplicationSet{got, &want} { // values are compared by what they say
				for i := range sources(set) {
					sources(set)[i].Helm.Values = withoutComments(sources(set)[i].Helm.Values)
				}
			}
			assert.Equal(t, asYAML(t, want.Spec), asYAML(t, got.Spec), "ApplicationSet %s is not that of %s", want.Name, path)
		}
	}
	if len(rendered) != examples {
		t.Errorf("the chart renders %d ApplicationSets; the example has %d", len(rendered), examples)
	}
}

// asYAML is a value as it would be written.
func asYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// sources are those of an ApplicationSet's template.
func sources(set *v1alpha1.ApplicationSet) []*v1alpha1.ApplicationSource {
	spec := &set.Spec.Template.Spec
	if spec.Source != nil {
		return []*v1alpha1.ApplicationSource{spec.Source}
	}
	var out []*v1alpha1.ApplicationSource
	for i := range spec.Sources {
		out = append(out, &spec.Sources[i])
	}
	return out
}

// withoutComments is a text of values without what only people read.
func withoutComments(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		line, _, _ = strings.Cut(strings.TrimRight(line, "\n"), " #")
		out = append(out, line)
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), `{"branch":"main"}`, "{branch: main}")
}

// TestHubAppsPointAtTheUsersRepository: no object names this repository where the user's is meant.
func TestHubAppsPointAtTheUsersRepository(t *testing.T) {
	const values = "service: {hub: hub, source: {git: {url: https://git.example.com/fleet.git, ref: stable}}}\n"
	docs, notes, err := rendering{}.render(hubChart, valuesFile(t, values))
	require.NoError(t, err)
	objects := decodeObjects(t, docs)
	root := one[*v1alpha1.Application](t, objects, "fleet-bootstrap").Spec.Source
	if root.RepoURL != "https://git.example.com/fleet.git" || root.TargetRevision != "stable" || root.Path != "fleet/bootstrap/hub" {
		t.Errorf("fleet-bootstrap deploys %+v", root)
	}
	args := one[*appsv1.Deployment](t, objects, "generator-plugin").Spec.Template.Spec.Containers[0].Args
	for _, want := range []string{"--source=https://git.example.com/fleet.git", "--ref=stable", "--hub=hub", "--state=kubernetes", "--state-namespace=argosy-state"} {
		if !slices.Contains(args, want) {
			t.Errorf("the service has no %s: %q", want, args)
		}
	}
	for _, doc := range docs {
		for line := range strings.Lines(doc) {
			if strings.Contains(line, "github.com/argosy-hub/argosy") && !strings.Contains(line, "url: https://github.com/argosy-hub/argosy") &&
				line != "    - https://github.com/argosy-hub/argosy\n" { // of the projects' sourceRepos
				t.Errorf("names this repository: %s", line)
			}
		}
	}
	for _, want := range []string{"hub is the hub of", "https://git.example.com/fleet.git", "deployment/generator-plugin", "External Secrets is not installed"} {
		assert.Contains(t, notes, want, "the notes do not say")
	}
}

// TestHubIsRegistered: Argo CD finds the hub under its name, and its labels are facts that no new
// version changes.
func TestHubIsRegistered(t *testing.T) {
	secret := one[*corev1.Secret](t, rendering{}.objects(t, hubChart, newHub, "cluster: {labels: {region: eu}, annotations: {aws_region: eu-west-1}}\n"), "hub-cluster")
	if string(secret.Data["name"]) != "hub-eu" || string(secret.Data["server"]) != "https://kubernetes.default.svc" {
		t.Errorf("registers %s at %s", secret.Data["name"], secret.Data["server"])
	}
	want := map[string]string{
		"argocd.argoproj.io/secret-type": "cluster", "fleet_member": "hub-cluster", "region": "eu",
		"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/part-of": "argosy",
	}
	assert.Equal(t, want, secret.Labels)
	assert.Equal(t, map[string]string{"cluster_name": "hub-eu", "aws_region": "eu-west-1"}, secret.Annotations)
}

// TestHubSecretStores: each provider becomes a store that External Secrets' own types accept.
func TestHubSecretStores(t *testing.T) {
	for provider, values := range map[string]string{
		"kubernetes": "",
		"aws":        "aws: {region: eu-west-1, role: 'arn:aws:iam::111122223333:role/fleet'}",
		"vault":      "vault: {server: 'https://vault.example.com', path: fleet, auth: {kubernetes: {mountPath: kubernetes, role: argosy}}}",
		"gcp":        "gcp: {projectID: fleet}",
		"azure":      "azure: {vaultUrl: 'https://fleet.vault.azure.net', serviceAccountRef: {name: eso, namespace: external-secrets}}",
	} {
		t.Run(provider, func(t *testing.T) {
			objects := rendering{APIVersions: externalSecretsAPI}.objects(t, hubChart, newHub, "secretStore:\n  provider: "+provider+"\n  "+values+"\n")
			spec := one[*esv1.ClusterSecretStore](t, objects, "fleet-secrets").Spec
			if len(spec.Conditions) != 1 || !slices.Equal(spec.Conditions[0].Namespaces, []string{"argocd"}) {
				t.Errorf("usable in %+v", spec.Conditions)
			}
			p := spec.Provider
			set := map[string]bool{"kubernetes": p.Kubernetes != nil, "aws": p.AWS != nil, "vault": p.Vault != nil, "gcp": p.GCPSM != nil, "azure": p.AzureKV != nil}
			for name, is := range set {
				if is != (name == provider) {
					t.Errorf("provider %s: %v", name, is)
				}
			}
		})
	}
	for name, values := range map[string]string{
		"before External Secrets is there": newHub,
		"somebody else's":                  newHub + "secretStore: {provider: none, create: true}\n",
	} {
		if stores := all[*esv1.ClusterSecretStore](rendering{}.objects(t, hubChart, values)); len(stores) != 0 {
			t.Errorf("%s: a store %s", name, stores[0].Name)
		}
	}
}

// TestHubIsAdoptedAsInstalled: what Argo CD renders of the hub's own Application is what `helm
// install` has made, object by object, but for the token's Secret, which stays as it is.
func TestHubIsAdoptedAsInstalled(t *testing.T) {
	live := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}}
	argoCD := []string{"argoproj.io/v1alpha1/ApplicationSet"}
	installed := rendering{Name: "argosy", Live: live, APIVersions: argoCD}.objects(t, hubChart, newHub)
	adopted := rendering{Name: "argosy", APIVersions: argoCD}.objects(t, hubChart, newHub, "service: {token: {generate: none}}\n")
	token := one[*corev1.Secret](t, installed, "generator-plugin-token")
	assert.Equal(t, "keep", token.Annotations["helm.sh/resource-policy"], "an uninstalled release would take the token along")
	installed = slices.DeleteFunc(installed, func(o runtime.Object) bool { return o == runtime.Object(token) })
	assert.Equal(t, asYAML(t, installed), asYAML(t, adopted))
}

// TestHubRefusesWhatCannotWork: each mistake is an error that names the value.
func TestHubRefusesWhatCannotWork(t *testing.T) {
	live := []runtime.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}}
	for message, values := range map[string]string{
		"service.hub is required":                   "service: {source: {git: {url: https://x/y}}}\n",
		"service.source.git.url is required":        "service: {hub: hub}\n",
		"service.owner: a hub has none":             strings.Replace(newHub, "{hub: hub-eu", "{hub: hub-eu, owner: a", 1),
		"policies.namespaces: expected argocd":      newHub + "policies: {namespaces: [argo]}\n",
		"secretStore.aws.region is required":        newHub + "secretStore: {provider: aws}\n",
		"secretStore.vault.auth is required":        newHub + "secretStore: {provider: vault, vault: {server: 'https://v'}}\n",
		"projects.tenants.platform":                 newHub + "projects: {tenants: {platform: {}}}\n",
		"projects.tenants: default is Argo CD's":    newHub + "projects: {tenants: {default: {}}}\n",
		"projects.platform: default is Argo CD's":   newHub + "projects: {platform: default}\n",
		"reaches shop-eu, too":                      newHub + "projects: {tenants: {shop: {}, shop-eu: {clusters: [a]}}}\n",
		"reaches hub-eu, too":                       newHub + "projects: {tenants: {hub: {}}}\n",
		"reaches shop-legacy-1, too":                newHub + "projects: {tenants: {shop: {}, data: {clusters: [shop-legacy-1]}}}\n",
		"additional properties 'secretStores' not":  newHub + "secretStores: {}\n",
		"install.policies: \"false\" is a text":     newHub + "install: {policies: \"false\"}\n",
		"service.argocd.namespace: argo is not the": "service: {hub: hub, argocd: {namespace: argo}, source: {git: {url: https://x/y}}}\n",
	} {
		rendering{}.fails(t, message, hubChart, values)
	}
	rendering{Live: live}.fails(t, "install Argo CD into the namespace argocd first", hubChart, newHub)
}

// TestHubTenantsHaveProjects: a tenant's project admits its clusters alone.
func TestHubTenantsHaveProjects(t *testing.T) {
	projects := map[string]*v1alpha1.AppProject{}
	for _, project := range all[*v1alpha1.AppProject](rendering{}.objects(t, hubChart, newHub,
		"projects: {tenants: {shop: {groups: [shop-team]}, data: {clusters: [warehouse]}}}\n")) {
		projects[project.Name] = project
	}
	if len(projects) != 3 {
		t.Fatalf("%d projects", len(projects))
	}
	for name, cluster := range map[string]string{"shop": "shop-*", "data": "warehouse"} {
		to := projects[name].Spec.Destinations
		if len(to) != 1 || to[0].Name != cluster || to[0].Namespace != "*" || to[0].Server != "" {
			t.Errorf("%s: %+v", name, to)
		}
	}
	roles := projects["shop"].Spec.Roles
	if len(roles) != 1 || !slices.Equal(roles[0].Groups, []string{"shop-team"}) || len(roles[0].Policies) != 2 {
		t.Errorf("roles %+v", roles)
	}
}

// TestHubProjectsAreClosed: by default a project admits the fleet repository, Argosy's charts and
// those of its catalogs, with their kinds, and nothing else; `sourceRepos` adds to them.
func TestHubProjectsAreClosed(t *testing.T) {
	for _, project := range all[*v1alpha1.AppProject](rendering{}.objects(t, hubChart, "service: {hub: hub-eu, source: {git: {url: https://git.example.com/fleet.git}}}\n",
		"projects: {sourceRepos: [https://charts.example.com], tenants: {shop: {}}}\n")) {
		permitted := []string{"https://git.example.com/fleet.git", "ghcr.io/argosy-hub/charts", "https://github.com/argosy-hub/argosy", "https://charts.example.com"}
		for _, group := range fleetGroups {
			for _, e := range entries(t, group) {
				permitted = append(permitted, e.Chart.RepoURL)
			}
		}
		for _, url := range permitted {
			if !project.IsSourcePermitted(v1alpha1.ApplicationSource{RepoURL: url}) {
				t.Errorf("project %s does not admit %s", project.Name, url)
			}
		}
		for _, url := range []string{"https://evil.example.com/x.git", "https://git.example.com/other.git", "ghcr.io/evil/charts"} {
			if project.IsSourcePermitted(v1alpha1.ApplicationSource{RepoURL: url}) {
				t.Errorf("project %s admits %s", project.Name, url)
			}
		}
		example := projectsOf(t, "hub-eu")[map[string]string{"platform": "platform", "shop": "retail"}[project.Name]]
		byGroup := func(a, b metav1.GroupKind) int { return strings.Compare(a.Group+a.Kind, b.Group+b.Kind) }
		kinds := slices.SortedFunc(slices.Values(project.Spec.ClusterResourceWhitelist), byGroup)
		assert.Equal(t, slices.SortedFunc(slices.Values(example.Spec.ClusterResourceWhitelist), byGroup), kinds, "project %s has other kinds than the example's", project.Name)
	}
}

// TestEmptyListOfATenantAdmitsNothing: a list that says nothing is not one that is missing.
func TestEmptyListOfATenantAdmitsNothing(t *testing.T) {
	for _, project := range all[*v1alpha1.AppProject](rendering{}.objects(t, hubChart, newHub,
		"projects: {tenants: {shop: {clusters: [], sourceRepos: [], clusterResources: []}}}\n")) {
		if spec := project.Spec; project.Name == "shop" && len(spec.SourceRepos)+len(spec.Destinations)+len(spec.ClusterResourceWhitelist) > 0 {
			t.Errorf("%+v", spec)
		}
	}
}
