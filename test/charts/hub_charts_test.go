package charts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"helm.sh/helm/v3/pkg/chart/loader"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestHubNamesARevisionOfItsCharts: without `charts.version` members get the charts of the hub's
// own version: from a registry by that version, from Git by the tag that a release has.
func TestHubNamesARevisionOfItsCharts(t *testing.T) {
	chart, err := loader.LoadDir(hubChart)
	require.NoError(t, err)
	version := chart.Metadata.Version
	for values, want := range map[string]string{
		"charts: {}\n": version,
		"charts: {repoURL: https://git.example.com/argosy.git, path: charts}\n":                "v" + version,
		"charts: {repoURL: https://git.example.com/argosy.git, path: charts, version: main}\n": "main",
		"charts: {version: 9.9.9}\n": "9.9.9",
	} {
		grants := one[*v1alpha1.ApplicationSet](t, rendering{}.objects(t, hubChart, newHub, values), "grants")
		assert.Equal(t, want, grants.Spec.Template.Spec.Source.TargetRevision, "%s: revision", values)
	}
}

// TestNotesOfTheHub: they name the Deployment that is there, and whose the store is.
func TestNotesOfTheHub(t *testing.T) {
	for values, want := range map[string]string{
		"service: {fullnameOverride: argosy}\n":                      "deployment/argosy\n",
		"service: {fullnameOverride: ''}\n":                          "deployment/test-generator-plugin\n",
		"service: {fullnameOverride: '', nameOverride: ''}\n":        "deployment/test-service\n",
		"secretStore: {create: 'false'}\n":                           "ClusterSecretStore fleet-secrets, which is yours to make",
		"secretStore: {create: false, kubernetes: {namespace: s}}\n": "ClusterSecretStore fleet-secrets, which is yours to make",
	} {
		_, notes, err := rendering{}.render(hubChart, valuesFiles(t, []string{newHub, values})...)
		require.NoError(t, err)
		if !strings.Contains(notes, want) {
			t.Errorf("%s: no %q in\n%s", values, want, notes)
		}
	}
}

// TestRestoredNamespaceIsNotInstalled: the page on backups makes the namespace of the state before
// it installs the hub, and Helm refuses an object that it has not made.
func TestRestoredNamespaceIsNotInstalled(t *testing.T) {
	text, err := os.ReadFile(repo + "/docs/how-to/back-up-a-hub.md")
	require.NoError(t, err)
	_, made, found := strings.Cut(string(text), "$ kubectl create namespace ")
	_, set, sets := strings.Cut(string(text), "`--set ")
	if !found || !sets {
		t.Fatalf("the page makes a namespace: %t; it says what to set for that: %t", found, sets)
	}
	namespace, _, _ := strings.Cut(made, "\n")
	key, value, _ := strings.Cut(strings.Split(set, "`")[0], "=")
	section, option, _ := strings.Cut(key, ".")
	there := func(values string) bool {
		return slices.ContainsFunc(all[*corev1.Namespace](rendering{}.objects(t, hubChart, newHub, values)), func(n *corev1.Namespace) bool { return n.Name == namespace })
	}
	if !there("") || there("{"+section+": {"+option+": "+value+"}}\n") {
		t.Errorf("namespace %s: expected it from the chart by default, and not with %s=%s", namespace, key, value)
	}
}

// TestMirrorIsTheOnlyRegistry: with the values that the document shows, a hub names no host but the
// user's own.
func TestMirrorIsTheOnlyRegistry(t *testing.T) {
	text, err := os.ReadFile(repo + "/docs/how-to/private-networks.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(text), "# mirror\n")
	if !found {
		t.Fatal("the document has no block of values `# mirror`")
	}
	block, _, _ = strings.Cut(block, "```")
	var values strings.Builder
	for line := range strings.Lines(block) {
		values.WriteString(strings.TrimPrefix(line, "   "))
	}
	docs, _, err := rendering{APIVersions: []string{"external-secrets.io/v1"}}.render(repo+"/charts/hub", valuesFiles(t, []string{values.String()})...)
	require.NoError(t, err)
	// Kubernetes' and Argo CD's own names, and the runbooks that alerts link to, are not fetched.
	host := regexp.MustCompile(`(?:ghcr\.io|quay\.io|docker\.io|github\.com|registry\.internal|git\.internal)[^\s'"]*`)
	mirrored := 0
	for _, doc := range docs {
		for _, address := range host.FindAllString(doc, -1) {
			if !strings.HasPrefix(address, "registry.internal/") && !strings.HasPrefix(address, "git.internal/") {
				t.Errorf("rendered: %s, in\n%s", address, doc)
			}
			mirrored++
		}
	}
	if mirrored < 5 {
		t.Errorf("%d addresses of the mirror", mirrored)
	}
}

// TestMirrorReachesTheServicesOfMembers: the service on a member comes from the registry that the
// hub's own comes from.
func TestMirrorReachesTheServicesOfMembers(t *testing.T) {
	objects := rendering{}.objects(t, hubChart, newHub,
		"service: {image: {repository: registry.internal/argosy/generator-plugin}, imagePullSecrets: [{name: registry-internal}]}\n")
	values := one[*v1alpha1.ApplicationSet](t, objects, "agents").Spec.Template.Spec.Sources[0].Helm.Values
	values = strings.ReplaceAll(values, "{{ .helmValues }}", onMember)
	pod := one[*appsv1.Deployment](t, rendering{}.objects(t, generatorPlugin, values), "").Spec.Template.Spec
	for _, c := range pod.Containers {
		if !strings.HasPrefix(c.Image, "registry.internal/") {
			t.Errorf("container %s has the image %s", c.Name, c.Image)
		}
	}
	assert.Equal(t, 1, len(pod.ImagePullSecrets), "pull secrets %v", pod.ImagePullSecrets)
	flux := one[*v1alpha1.ApplicationSet](t, objects, "agents-flux").Spec.Template.Spec.Sources[0].Helm.Values
	assert.Contains(t, flux, "registry.internal/argosy/generator-plugin", "with Flux")
}

// TestSizesHoldWhatWasMeasured: with the values that the document shows for a fleet, Go's collector
// may use more than the largest memory that was measured; with the defaults, those of the fleets
// that the document has them for.
func TestSizesHoldWhatWasMeasured(t *testing.T) {
	text, err := os.ReadFile(repo + "/docs/how-to/size-the-service.md")
	require.NoError(t, err)
	largest := map[string]int{} // MB by clusters
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9,]+) \|.* ([0-9,]+) \|$`).FindAllStringSubmatch(string(text), -1) {
		if largest[m[1]], err = strconv.Atoi(strings.ReplaceAll(m[2], ",", "")); err != nil {
			t.Fatal(err)
		}
	}
	_, block, _ := strings.Cut(string(text), "```yaml\n# 5,000 clusters\n")
	block, _, _ = strings.Cut(block, "```")
	const hub = "service: {hub: hub, source: {git: {url: https://git.example.com/fleet.git}}}\n"
	for clusters, values := range map[string]string{"1,000": "{}", "5,000": block} {
		deployment := one[*appsv1.Deployment](t, rendering{}.objects(t, repo+"/charts/hub", hub, values), "generator-plugin")
		limit := 0
		for _, e := range deployment.Spec.Template.Spec.Containers[0].Env {
			if e.Name == "GOMEMLIMIT" {
				if limit, err = strconv.Atoi(strings.TrimSuffix(e.Value, "MiB")); err != nil {
					t.Fatal(err)
				}
			}
		}
		if largest[clusters] == 0 || limit < largest[clusters] {
			t.Errorf("%s clusters: GOMEMLIMIT is %d MiB; the document has measured %d MB", clusters, limit, largest[clusters])
		}
	}
}

// TestRootsOfGroupsOfYourOwn: the root of each group finds its catalog in the chart of a release,
// or does without. Helm refuses a values file that is not there, and Argo CD deploys nothing of the
// group.
func TestRootsOfGroupsOfYourOwn(t *testing.T) {
	for chart, values := range map[string]string{
		hubChart:                         newHub + "roots: {agents: [], groups: [addons, fleet, monitoring, provisioning, resources, teams, workloads, databases]}\n",
		repo + "/charts/agent-bootstrap": "{hub: hub-eu, owner: shop-1, groups: [addons, fleet, monitoring, resources, teams, workloads, databases]}\n",
	} {
		withoutCatalog := 0
		for _, set := range all[*v1alpha1.ApplicationSet](rendering{}.objects(t, chart, values)) {
			helm := set.Spec.Template.Spec.Source.Helm
			for _, file := range helm.ValueFiles {
				_, err := os.Stat(filepath.Join(applicationSets, file))
				if err != nil {
					withoutCatalog++
				}
				assert.Equal(t, helm.IgnoreMissingValueFiles, (err != nil), "%s: ApplicationSet %s: %s is there: %t, and may be missing", chart, set.Name, file, err == nil)
			}
		}
		if withoutCatalog != 1 {
			t.Errorf("%s: %d groups without a catalog", chart, withoutCatalog)
		}
	}
}
