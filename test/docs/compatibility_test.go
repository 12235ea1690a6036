package docs

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/test/proven"
)

//go:generate go test . -run TestCompatibilityDocIsUpToDate -update

var update = flag.Bool("update", false, "write the tables of docs/reference/compatibility.md again")

const compatibility = "docs/reference/compatibility.md"

// The tables of docs/reference/compatibility.md are written from the modules that the proofs build
// and from the catalogs.
func TestCompatibilityDocIsUpToDate(t *testing.T) {
	t.Parallel()
	facts, err := proven.Read(root)
	require.NoError(t, err)
	was := read(t, compatibility)
	is := was
	for name, table := range map[string]string{"programs": programs(facts), "charts": charts(t, facts)} {
		begin, end := "<!-- "+name+": written by make docs -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(is, begin)
		_, after, ended := strings.Cut(rest, end)
		if !ok || !ended {
			t.Fatalf("%s: no %q with %q behind it; expected both around the table", compatibility, begin, end)
		}
		is = before + begin + table + end + after
	}
	switch {
	case is == was:
	case *update:
		require.NoError(t, os.WriteFile(filepath.Join(root, compatibility), []byte(is), 0o644))
	default:
		t.Errorf("%s is not what %s and the go.mod files say; run make docs (-is +should be):\n%s",
			compatibility, proven.File, cmp.Diff(strings.Split(was, "\n"), strings.Split(is, "\n")))
	}
}

// programs is the table of what runs.
func programs(facts proven.Facts) string {
	table := "\n| program | version | proof |\n|---|---|---|\n"
	for _, c := range facts.Components {
		table += fmt.Sprintf("| %s | %s | %s |\n", c.Name, c.Version, c.Proof)
	}
	return table + "\n"
}

// charts is the table of the catalogs' charts that install it.
func charts(t *testing.T, facts proven.Facts) string {
	t.Helper()
	table := "\n| chart | version | installs | compared with |\n|---|---|---|---|\n"
	for _, c := range facts.Charts {
		version, ok := catalogVersions(t)[c.Name]
		if !ok {
			continue // in no catalog
		}
		var installs []string
		for _, p := range c.Programs {
			name := p.Name
			if p.Value != "" {
				name = "`" + strings.ReplaceAll(p.Value, "/", ".") + "`"
			}
			installs = append(installs, name+" "+p.Component.Version)
		}
		compared := "the chart, rendered"
		if r := c.Recorded; r != nil {
			compared = fmt.Sprintf("its keys, read on %s; its own version is %s", r.Read, r.AppVersion)
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", c.Name, version, strings.Join(installs, ", "), compared)
	}
	return table + "\n"
}

// catalogVersions are the versions of the charts that the catalogs install.
func catalogVersions(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "charts/application-sets/catalogs/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d catalogs: %v", len(files), err)
	}
	versions := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var catalog struct {
			Components map[string]struct {
				Chart struct{ Name, Version string }
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &catalog), "%s", file)
		for _, e := range catalog.Components {
			versions[e.Chart.Name] = e.Chart.Version
		}
	}
	return versions
}

// A document that installs Argo CD names the chart's version of the catalog and the Argo CD that
// runs in the proofs; terraform makes clusters of the Kubernetes that does.
func TestDocumentsInstallWhatRuns(t *testing.T) {
	t.Parallel()
	facts, err := proven.Read(root)
	require.NoError(t, err)
	version := map[string]string{}
	for _, c := range facts.Components {
		version[c.Name] = c.Version
	}
	install := regexp.MustCompile(`helm install (\S+) (\S+ )?--repo \S+argo-helm[^` + "`" + `]*`)
	found := 0
	for file, text := range pages(t) {
		for _, command := range install.FindAllString(text, -1) {
			found++
			for _, want := range []string{"--version " + catalogVersions(t)["argo-cd"], "--set global.image.tag=" + version["Argo CD 3.6"]} {
				assert.Contains(t, strings.Join(strings.Fields(command), " ")+" ", want+" ", "%s: %q; expected %s, which the catalog fleet installs", file, command, want)
			}
		}
	}
	if found == 0 {
		t.Error("no document installs Argo CD")
	}
	minor := strings.TrimPrefix(strings.TrimSuffix(version["Kubernetes"], path.Ext(version["Kubernetes"])), "v")
	for _, file := range []string{"terraform/hub/variables.tf", "terraform/spokes/variables.tf"} {
		_, rest, _ := strings.Cut(read(t, file), `variable "kubernetes_version" {`)
		block, _, _ := strings.Cut(rest, "}")
		assert.Contains(t, block, `= "`+minor+`"`, "%s: kubernetes_version is not that of %s, which runs", file, version["Kubernetes"])
	}
}
