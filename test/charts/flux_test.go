package charts_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const fluxAgent = "analytics-prod-eu-1"

// onFluxMember is what charts/agent-flux installs the service with.
const onFluxMember = onHub + "owner: " + fluxAgent + "\nengine: flux\nfacts: {from: file}\n"

func TestAgentFluxGoldens(t *testing.T) { chartGoldens(t, agentFlux) }

// inFlux is a release where Flux is.
func inFlux(release string) rendering { return rendering{Name: release, Namespace: "flux-system"} }

// Every object of this repository's artifacts is one that Flux's definitions accept.
func TestArtifactsAreFluxObjects(t *testing.T) {
	_, state := newEngine(t)
	for owner, least := range map[string]int{fluxAgent: 5, "hub": 40} {
		owned, err := flux.OwnedBy(state, "hub-eu", owner)
		require.NoError(t, err)
		files, problems := flux.Render(owned)
		for _, p := range problem.Errors(problems) {
			t.Errorf("%v", p)
		}
		var docs []string
		for _, f := range files {
			if f.Name != "kustomization.yaml" {
				docs = append(docs, documents(string(f.Data))...)
			}
		}
		deployed := 0
		for _, object := range decodeObjects(t, docs) {
			if u, ok := object.(*unstructured.Unstructured); ok && slices.Contains([]string{"HelmRelease", "Kustomization"}, u.GetKind()) {
				deployed++
			}
		}
		if deployed != len(owned.Components) || deployed < least {
			t.Errorf("%s: %d HelmReleases and Kustomizations of %d components", owner, deployed, len(owned.Components))
		}
	}
}

// What is to go is one that Flux's definitions accept, too; and of it alone the Kustomization may
// prune anything.
func TestDepartingObjectsAreFluxObjects(t *testing.T) {
	_, state := newEngine(t)
	owned, err := flux.OwnedBy(state, "hub-eu", fluxAgent)
	require.NoError(t, err)
	running := len(owned.Components) / 2
	owned.Components, owned.Removals = owned.Components[:running], owned.Components[running:]
	for i := range owned.Removals {
		owned.Removals[i].Deletion = []string{"cascade", "orphan"}[i%2]
	}
	files, problems := flux.Render(owned)
	for _, p := range problem.Errors(problems) {
		t.Errorf("%v", p)
	}
	kinds := map[string]int{}
	for _, f := range files {
		if f.Name == "kustomization.yaml" {
			continue
		}
		for _, object := range decodeObjects(t, documents(string(f.Data))) {
			o := object.(metav1.Object) //nolint:forcetypeassert // all objects are
			prunable, said := o.GetAnnotations()[facts.PruneAnnotation] != facts.PruneDisabled, o.GetAnnotations()[facts.DeletionAnnotation]
			if prunable != (said != "") {
				t.Errorf("%s: prunable %v, deletion %q", o.GetName(), prunable, said)
			}
			if u, is := object.(*unstructured.Unstructured); is {
				suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend")
				kinds[fmt.Sprintf("%s:%s:%v", u.GetKind(), said, suspended)]++
			}
		}
	}
	if kinds["HelmRelease:cascade:false"]+kinds["HelmRelease:orphan:true"] != len(owned.Removals) || kinds["HelmRelease::false"] != running || kinds["HelmChart:orphan:false"] == 0 {
		t.Errorf("%d of %d are to go: %v", len(owned.Removals), running+len(owned.Removals), kinds)
	}
	artifact := custom(t, inFlux("agent-flux").objects(t, agentFlux, "plugin: {values: {hub: h, owner: a, source: {git: {url: https://g.example/f}}}}"), "Kustomization", "argosy")
	if field(t, artifact, "spec", "prune") != true || field(t, artifact, "spec", "deletionPolicy") != "Orphan" {
		t.Errorf("Kustomization: %v", artifact.Object["spec"])
	}
}

// What internal/resolve/flux is tested with is accepted, too: what this repository's fleet has none
// of, as manifests.
func TestFluxGoldensAreFluxObjects(t *testing.T) {
	kinds := map[string]int{}
	for _, path := range glob(t, filepath.Join(repo, "internal/resolve/flux/testdata/*.txtar")) {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for _, f := range archive.Files {
			if base := filepath.Base(f.Name); !strings.HasPrefix(f.Name, "want/") || base == "kustomization.yaml" || base == "problems" {
				continue
			}
			for _, object := range decodeObjects(t, documents(string(f.Data))) {
				kinds[object.GetObjectKind().GroupVersionKind().Kind]++
			}
		}
	}
	if kinds["Kustomization"] < 6 || kinds["HelmRelease"] < 10 || kinds["GitRepository"] < 6 {
		t.Errorf("%v", kinds)
	}
}

// What the hub gives a member that runs Flux fits together: the service's chart takes the values,
// the artifact's address is the service's, and the Secret that Flux pulls with is the one that the
// service's chart makes.
func TestFluxAgentFitsTogether(t *testing.T) {
	url, state := newEngine(t)
	a := newArgoCD(t, url)
	apps := generate(t, a, rootSets(t, filepath.Join(repo, "fleet/bootstrap/hub-eu/agents-flux.yaml"))[0])
	if len(apps) != 1 || apps[0].Spec.Destination.Name != fluxAgent || apps[0].Spec.Destination.Namespace != "flux-system" {
		t.Fatalf("Applications: %+v", apps)
	}
	source := apps[0].Spec.Sources[0]
	objects := inFlux(source.Helm.ReleaseName).objects(t, filepath.Join(repo, source.Path), source.Helm.Values)
	release, artifact := custom(t, objects, "HelmRelease", "generator-plugin"), custom(t, objects, "OCIRepository", "argosy")
	values, err := yaml.Marshal(field(t, release, "spec", "values"))
	require.NoError(t, err)
	system := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	member := inFlux(field(t, release, "spec", "releaseName").(string))
	member.Live = []runtime.Object{system}
	plugin := member.objects(t, generatorPlugin, string(values))

	service := one[*corev1.Service](t, plugin, "")
	host := fmt.Sprintf("%s.%s.svc:%d", service.Name, service.Namespace, service.Spec.Ports[0].Port)
	if got := field(t, artifact, "spec", "url"); got != "oci://"+host+"/flux/hub-eu/"+fluxAgent {
		t.Errorf("artifact %v, service %s", got, host)
	}
	secret := one[*corev1.Secret](t, plugin, field(t, artifact, "spec", "secretRef", "name").(string))
	var config struct {
		Auths map[string]struct{ Username, Password string }
	}
	require.NoError(t, json.Unmarshal(secret.Data[".dockerconfigjson"], &config))
	if got := config.Auths[host]; secret.Type != corev1.SecretTypeDockerConfigJson || got.Username == "" || got.Password != string(secret.Data["token"]) || len(got.Password) != 48 {
		t.Errorf("Secret of type %s: %+v", secret.Type, config)
	}

	// The member's own service comes to the same artifact, from the values that the hub gave it.
	known, err := facts.Parse("facts.yaml", []byte(one[*corev1.ConfigMap](t, plugin, "").Data["facts.yaml"]))
	require.NoError(t, err)
	cluster, _ := known.Of(fluxAgent)
	want, err := flux.OwnedBy(state, "hub-eu", fluxAgent)
	require.NoError(t, err)
	all := want.Self.Labels.All
	for key, value := range cluster.Labels {
		if all[key] != value {
			t.Errorf("label %s: the member gets %q, the hub sees %q", key, value, all[key])
		}
	}
	if len(cluster.Labels) < len(all)-1 || cmp.Diff(want.Self.Annotations.All, cluster.Annotations) != "" {
		t.Errorf("facts %v", cluster)
	}
}

// With External Secrets one Secret is made once, of the type that Flux wants, with the service's
// token in both keys.
func TestTokenForFluxByExternalSecrets(t *testing.T) {
	r := inFlux("generator-plugin")
	r.APIVersions = externalSecretsAPI
	es := one[*esv1.ExternalSecret](t, r.objects(t, generatorPlugin, onFluxMember), "")
	secret, err := reconcile(t, es, nil, map[string]string{"password": bearer})
	require.NoError(t, err)
	const config = `{"auths":{"generator-plugin.flux-system.svc:8080":{"password":"` + bearer + `","username":"flux"}}}`
	if secret.Type != corev1.SecretTypeDockerConfigJson || string(secret.Data[".dockerconfigjson"]) != config || string(secret.Data["token"]) != bearer {
		t.Errorf("%s %v", secret.Type, texts(secret.Data))
	}
}

// The artifact is pulled from the service that is there, whatever its objects are called.
func TestFluxAgentFindsARenamedService(t *testing.T) {
	for _, naming := range []string{"fullnameOverride: argosy", "nameOverride: argosy", "nameOverride: plugin", "service: {port: 80}"} {
		objects := inFlux("agent-flux").objects(t, agentFlux, "plugin: {values: {hub: h, owner: a, source: {git: {url: https://g.example/f}}}, extraValues: {"+naming+"}}\n")
		values, err := yaml.Marshal(field(t, custom(t, objects, "HelmRelease", "generator-plugin"), "spec", "values"))
		require.NoError(t, err)
		member := inFlux("generator-plugin")
		member.APIVersions = externalSecretsAPI
		plugin := member.objects(t, generatorPlugin, string(values))
		service, artifact := one[*corev1.Service](t, plugin, ""), custom(t, objects, "OCIRepository", "argosy")
		if want, got := fmt.Sprintf("oci://%s.flux-system.svc:%d/flux/h/a", service.Name, service.Spec.Ports[0].Port), field(t, artifact, "spec", "url"); got != want {
			t.Errorf("%s: the artifact is at %v, the service %s", naming, got, want)
		}
		one[*esv1.ExternalSecret](t, plugin, field(t, artifact, "spec", "secretRef", "name").(string))
	}
}

// What the service reads, Flux reads as well: what the ref of the plugin's values is says its form.
func TestFluxReadsTheRevisionOfTheService(t *testing.T) {
	const commit = "0123456789012345678901234567890123456789"
	for ref, want := range map[string]string{"": "branch:main", "next": "branch:next", "refs/tags/v1": "name:refs/tags/v1", commit: "commit:" + commit} {
		objects := inFlux("agent-flux").objects(t, agentFlux, "plugin: {values: {hub: h, owner: a, source: {git: {url: https://g.example/f, ref: '"+ref+"'}}}}\n")
		if got := fmt.Sprint(field(t, custom(t, objects, "GitRepository", "argosy-charts"), "spec", "ref")); got != "map["+want+"]" {
			t.Errorf("ref %q: %s, want %s", ref, got, want)
		}
	}
}

func TestAgentFluxBadValues(t *testing.T) {
	const good = "plugin: {values: {hub: h, owner: a, source: {git: {url: https://g.example/f}}}}\n"
	for values, message := range map[string]string{
		"plugin: {values: null}":                         "hub is required",
		"plugin: {values: 'a: ['}":                       "plugin.values is no YAML",
		"plugin: {values: {hub: ''}}":                    "hub is required: the name of the hub",
		"plugin: {values: {owner: ''}}":                  "owner is required: the member's name or hub",
		"plugin: {values: {source: {git: {ref: HEAD}}}}": "source.git.ref: HEAD is a branch of that name to Flux",
		"owner: b":                "owner: the artifact is that of b, but the service on this cluster is a's",
		"plugin: {create: false}": "artifact.url is required with plugin.create: false",
		"plugin: {values: {source: {git: {url: ''}}}}":         "plugin.chart.url is required",
		"artifact: {url: 'http://x'}":                          "at '/artifact/url': 'http://x' does not match pattern",
		"artifact: {interval: 60}":                             "at '/artifact/interval': got number, want string",
		"fleet: {kustomizations: [{name: argosy, path: ./x}]}": "at '/fleet/kustomizations/0/name': 'not' failed",
		"fleet: {kustomizations: [{name: x}]}":                 "at '/fleet/kustomizations/0': missing property 'path'",
		"fleet: {ref: {head: x}}":                              "at '/fleet/ref': additional properties 'head' not allowed",
		"kustomization: {prune: maybe}":                        "at '/kustomization/prune': value must be one of true, false, 'true', 'false'",
	} {
		t.Run(values, func(t *testing.T) { inFlux("agent-flux").fails(t, message, agentFlux, good, values) })
	}
	for values, message := range map[string]string{
		"facts: {from: kubernetes}": "facts.from: kubernetes reads Argo CD's cluster Secrets, and with engine: flux there are none",
		"engine: fleet":             "at '/engine': value must be one of 'argocd', 'flux'",
	} {
		t.Run(values, func(t *testing.T) {
			inFlux("generator-plugin").fails(t, message, generatorPlugin, onFluxMember, values)
		})
	}
}

// custom is the only object of a kind without a Go type here, and of a name.
func custom(t *testing.T, objects []runtime.Object, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, u := range all[*unstructured.Unstructured](objects) {
		if u.GetKind() == kind && u.GetName() == name {
			return u
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

func field(t *testing.T, u *unstructured.Unstructured, path ...string) any {
	t.Helper()
	v, found, err := unstructured.NestedFieldNoCopy(u.Object, path...)
	if err != nil || !found {
		t.Fatalf("%s %s has no %s: %v", u.GetKind(), u.GetName(), strings.Join(path, "."), err)
	}
	return v
}

// TestHubsCredentialsGoToNamedHosts: a tenant names the repositories of its own charts. A hub's
// credentials go to the hosts that the platform names, and to no other one (W1).
func TestHubsCredentialsGoToNamedHosts(t *testing.T) {
	const hub = "{hub: h, owner: hub, plugin: {create: false}, artifact: {url: 'oci://x.example/flux/h/hub', secretName: s}, credentials: {helmRepositories: charts, gitRepositories: git"
	inFlux("agent-flux").fails(t, "credentials.hosts is required", agentFlux, hub+"}}")
	objects := inFlux("agent-flux").objects(t, agentFlux, hub+", hosts: [Charts.example]}}")
	patches, _ := field(t, custom(t, objects, "Kustomization", "argosy"), "spec", "patches").([]any)
	sum := sha256.Sum256([]byte("charts.example"))
	want := "argosy.dev/source-host in (" + hex.EncodeToString(sum[:])[:32] + ")"
	found := 0
	for _, p := range patches {
		patch, _ := p.(map[string]any)
		text, _ := patch["patch"].(string)
		if !strings.Contains(text, "/spec/secretRef") { // health checks
			continue
		}
		found++
		if target, _ := patch["target"].(map[string]any); target["labelSelector"] != want {
			t.Errorf("%v, want %s", target, want)
		}
	}
	if found != 2 {
		t.Errorf("%d patches with credentials", found)
	}
}

// TestNamedHostsAloneGetCredentials: Kustomize, with which Flux patches the artifact, gives the
// Secrets to the sources on these hosts, and to OCIRepositories.
func TestNamedHostsAloneGetCredentials(t *testing.T) {
	objects := inFlux("agent-flux").objects(t, agentFlux, "{hub: h, owner: hub, plugin: {create: false}, artifact: {url: 'oci://x.example/flux/h/hub', secretName: s}, "+
		"credentials: {helmRepositories: charts, ociRepositories: oci, gitRepositories: git, hosts: [charts.example, 'git.example:8443']}}")
	files := filesys.MakeFsInMemory()
	var sources strings.Builder
	for name, source := range map[string][2]string{"charts": {"HelmRepository", "charts.example"}, "git": {"GitRepository", "git.example:8443"}, "evil": {"HelmRepository", "charts.example.evil"}, "port": {"GitRepository", "git.example"}} {
		sum := sha256.Sum256([]byte(source[1]))
		fmt.Fprintf(&sources, "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: %s\nmetadata: {name: %s, labels: {argosy.dev/source-host: %q}}\nspec: {url: x}\n", source[0], name, hex.EncodeToString(sum[:])[:32])
	}
	sources.WriteString("---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: oci}\nspec: {url: x}\n")
	kustomization, err := yaml.Marshal(map[string]any{"resources": []any{"sources.yaml"}, "patches": field(t, custom(t, objects, "Kustomization", "argosy"), "spec", "patches")})
	require.NoError(t, err)
	for name, data := range map[string][]byte{"sources.yaml": []byte(sources.String()), "kustomization.yaml": kustomization} {
		require.NoError(t, files.WriteFile(name, data))
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, ".")
	require.NoError(t, err)
	got := map[string]string{}
	for _, r := range made.Resources() {
		tree, err := r.Map()
		require.NoError(t, err)
		secret, _, _ := unstructured.NestedString(tree, "spec", "secretRef", "name")
		got[r.GetName()] = secret
	}
	assert.Equal(t, map[string]string{"charts": "charts", "git": "git", "oci": "oci", "evil": "", "port": ""}, got)
}
