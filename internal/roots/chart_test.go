package roots

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// TestDefaultsAreThoseOfTheChart: what an Application of charts/hub leaves out is as the chart's
// values have it.
func TestDefaultsAreThoseOfTheChart(t *testing.T) {
	const file = "../../charts/hub/values.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := yamldoc.Parse(file, data)
	if err != nil {
		t.Fatal(err)
	}
	chart, none := Chart{values: doc.Root}, Chart{}
	for _, key := range []struct {
		name     string
		standard []string
	}{{"groups", defaultGroups}, {"agents", defaultAgents}} {
		if diff := cmp.Diff(chart.list(nil, "roots", key.name), none.list(key.standard, "roots", key.name)); diff != "" {
			t.Errorf("roots.%s: %s", key.name, diff)
		}
	}
	for _, key := range []struct {
		path     []string
		standard string
	}{
		{[]string{"projects", "platform"}, defaultProject},
		{[]string{"roots", "componentProject"}, defaultComponentProject},
	} {
		if got := text(doc.Root, key.path...); got != key.standard {
			t.Errorf("%s is %q in the chart, %q here", key.path, got, key.standard)
		}
	}
	for _, name := range []string{"roots", "projects"} {
		if on := text(doc.Root, "install", name); on != "true" || !none.on("install", name) {
			t.Errorf("install.%s is %q in the chart", name, on)
		}
	}
}
