package charts_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestSizesHoldWhatWasMeasured: with the values that the document shows for a fleet, Go's collector
// may use more than the largest memory that was measured; with the defaults, those of the fleets
// that the document has them for.
func TestSizesHoldWhatWasMeasured(t *testing.T) {
	text, err := os.ReadFile(repo + "/docs/how-to/size-the-service.md")
	if err != nil {
		t.Fatal(err)
	}
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
