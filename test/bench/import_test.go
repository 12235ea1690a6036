//go:build bench

package bench

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// plainComponents is how many ApplicationSets a plain hub has, with an Application on each cluster.
const plainComponents = 10

// TestImports measures import and verify, and nothing else.
func TestImports(t *testing.T) {
	b := &bench{T: t}
	if _, err := fmt.Sscan(*sizes, &b.clusters); err != nil {
		t.Fatal(err)
	}
	b.program = b.build()
	b.imports()
}

// imports imports a hub on plain ApplicationSets with ten Applications on each cluster, each with a
// value file of its own, and verifies the fleet against these Applications. Goals are for 1,000
// Applications, and hence 100 clusters; time is what passes, as for a user who waits.
func (b *bench) imports() {
	b.Helper()
	dir, applications := b.TempDir(), plainComponents*b.clusters
	lines := b.plainHub(dir)
	name := fmt.Sprintf("%d Applications", applications)
	from := []string{"--from", filepath.Join(dir, "repository"), "--clusters", filepath.Join(dir, "secrets.yaml")}
	fleet := filepath.Join(b.TempDir(), "fleet")
	verify := append([]string{"verify", "--repo", fleet, "--against", filepath.Join(dir, "live.yaml")}, from...)
	for _, c := range []struct {
		what   string
		within float64 // seconds
		args   func(round int) []string
	}{
		{"argosy import", 30, func(round int) []string {
			out := fleet
			if round > 0 {
				out += fmt.Sprint(round)
			}
			return append([]string{"import", "--hub", "hub", "--out", out}, from...)
		}},
		{"argosy verify, all equal", 10, func(int) []string { return verify }},
	} {
		row := figure{what: c.what, fleet: name, against: fmt.Sprintf("%g s", c.within), goal: atMost(100, "%")}
		var took []float64
		for i := range b.rounds() {
			args := c.args(i)
			took = append(took, timedWall(func() { b.command(b.program, args...) }))
			row.rounds = append(row.rounds, 100*took[i]/c.within)
		}
		row.detail = fmt.Sprintf("%s, %d lines of values", seconds(median(took)), lines)
		b.add(row)
		if runtime.GOOS == "linux" {
			peak := b.peak(b.program, c.args(b.rounds())...)
			b.add(figure{what: "peak memory of " + c.what, fleet: name, against: "1 GiB", goal: atMost(100, "%"), rounds: []float64{100 * peak / (1 << 30)}, detail: fmt.Sprintf("%.0f MB", peak/1e6)})
		}
	}
}

// plainHub writes what a user of import has: a repository of ApplicationSets and value files, the
// clusters' Secrets, and the live Applications. It returns how many lines of values there are.
func (b *bench) plainHub(dir string) (lines int) {
	b.Helper()
	files := map[string]string{}
	var secrets, live strings.Builder
	environments := []string{"dev", "staging", "prod"}
	for c := range b.clusters {
		environment := environments[c%len(environments)]
		fmt.Fprintf(&secrets, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: %[1]s, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster, environment: %[2]s, tenant: tenant-%[3]d}}\nstringData: {name: %[1]s, server: 'https://%[1]s.example.com'}\n",
			fleettest.Cluster(c), environment, c%4)
	}
	for n := range plainComponents {
		component := fleettest.Component(n)
		set := plainSet(component, "{{ .name }}", "{{ .server }}")
		files["repository/appsets/"+component+".yaml"] = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: " + component + ", namespace: argocd}\nspec:\n  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n" +
			"  generators: [{clusters: {selector: {matchExpressions: [{key: environment, operator: Exists}]}}}]\n  template:\n    metadata: {name: '{{ .name }}-" + component + "'}\n" + indent(set, "    ")
		for c := range b.clusters {
			cluster := fleettest.Cluster(c)
			fmt.Fprintf(&live, "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s-%s, namespace: argocd}\n%s", cluster, component, plainSet(component, cluster, "https://"+cluster+".example.com"))
			text := plainValues(component, cluster, environments[c%len(environments)])
			files["repository/values/"+component+"/"+cluster+".yaml"] = text
			lines += strings.Count(text, "\n") + 1 // and what the ApplicationSet sets
		}
	}
	files["secrets.yaml"], files["live.yaml"] = secrets.String(), live.String()
	require.NoError(b, fleettest.Write(dir, files))
	return lines
}

// plainSet is the spec of a component's Application on a cluster.
func plainSet(component, cluster, server string) string {
	return fmt.Sprintf(`spec:
  project: default
  destination: {server: '%[3]s', namespace: %[1]s}
  sources:
    - repoURL: https://charts.example.com
      chart: %[1]s
      targetRevision: 1.4.0
      helm: {releaseName: %[1]s, valueFiles: ['$values/values/%[1]s/%[2]s.yaml'], valuesObject: {cluster: '%[2]s'}}
    - {repoURL: 'https://git.example.com/platform.git', targetRevision: main, ref: values}
  syncPolicy: {automated: {selfHeal: true}}
`, component, cluster, server)
}

// plainValues are 66 lines: most are every cluster's, some the environment's, and one its own.
func plainValues(component, cluster, environment string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "host: %s.%s.example.com\nenvironment: %s\nsettings:\n", component, cluster, environment)
	for i := range 63 {
		value := "every cluster's"
		if i%10 == 0 {
			value = "that of " + environment
		}
		fmt.Fprintf(&out, "  setting-%02d: %s %d\n", i, value, i)
	}
	return out.String()
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}
