package charts_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
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
