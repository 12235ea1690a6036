package charts_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
)

// TestMirrorIsTheOnlyRegistry: with the values that the document shows, a hub names no host but the
// user's own.
func TestMirrorIsTheOnlyRegistry(t *testing.T) {
	text, err := os.ReadFile(repo + "/docs/how-to/private-networks.md")
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	if len(pod.ImagePullSecrets) != 1 {
		t.Errorf("pull secrets %v", pod.ImagePullSecrets)
	}
	flux := one[*v1alpha1.ApplicationSet](t, objects, "agents-flux").Spec.Template.Spec.Sources[0].Helm.Values
	if !strings.Contains(flux, "registry.internal/argosy/generator-plugin") {
		t.Errorf("with Flux:\n%s", flux)
	}
}
