package charts_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// TestApplicationSetsGoldens renders each testdata/application-sets/*.txtar and compares with its
// golden.
// Files named values*.yaml are value files in order; want.yaml is what comes out, want-error
// the message instead. A comment line `catalog: NAME` puts a catalog of the chart first.
func TestApplicationSetsGoldens(t *testing.T) {
	for _, path := range glob(t, "testdata/application-sets/*.txtar") {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var valueFiles []string
			for _, line := range strings.Split(string(archive.Comment), "\n") {
				if group, ok := strings.CutPrefix(line, "catalog: "); ok {
					valueFiles = append(valueFiles, catalog(group))
				}
			}
			wantName, want := "want.yaml", ""
			for _, file := range archive.Files {
				switch {
				case strings.HasPrefix(file.Name, "values"):
					valueFiles = append(valueFiles, valuesFile(t, string(file.Data)))
				default:
					wantName, want = file.Name, string(file.Data)
				}
			}
			gotName, got := outcome(t, valueFiles)
			if *update {
				files := archive.Files[:0:0]
				for _, file := range archive.Files {
					if strings.HasPrefix(file.Name, "values") {
						files = append(files, file)
					}
				}
				files = append(files, txtar.File{Name: gotName, Data: []byte(got)})
				archive.Files = files
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if gotName != wantName || got != want {
				t.Errorf("%s differs; -update rewrites it\ngot %s:\n%s\nwant %s:\n%s", path, gotName, got, wantName, want)
			}
		})
	}
}

// outcome renders the chart: the file that a golden holds, and its text.
func outcome(t *testing.T, valueFiles []string) (name, text string) {
	t.Helper()
	out, err := helmTemplate(applicationSets, valueFiles...)
	if err != nil {
		return "want-error", strings.TrimSpace(err.Error()) + "\n"
	}
	decode(t, out)
	return "want.yaml", canonical(t, out)
}

// TestLint runs Helm's own lint.
func TestLint(t *testing.T) {
	for chart, values := range map[string]map[string]any{
		"application-sets": {"group": "addons"},
		"agent-flux":       {"plugin": map[string]any{"values": "hub: hub-eu\nowner: analytics-prod-eu-1\nsource: {git: {url: https://github.com/acme/fleet}}\n"}},
		"agent-bootstrap":  {"hub": "hub-eu", "owner": "retail-prod-eu-1", "groups": []any{"addons"}},
	} {
		for _, message := range lint.All(repo+"/charts/"+chart, values, "argocd", false).Messages {
			if message.Severity >= support.WarningSev {
				t.Errorf("%s: %s", chart, message)
			}
		}
	}
}
