package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/race"
)

// entryOf are components switched on.
func entryOf(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(n + ": {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n")
	}
	return b.String()
}

// TestLint: what does not change an answer but is most likely not meant, each once, in order of
// position.
func TestLint(t *testing.T) {
	private := "clusterName: private-one\ntenant: retail\nenvironment: prod\n"
	for _, c := range []struct {
		name string
		more fleettest.Tree
		want string
	}{
		{"nothing", nil, ""},
		{
			"a layout under another name",
			fleettest.Tree{"fleet/layout.yml": "groups: {}\n", "fleet/Layout.yaml": "groups: {}\n", "fleet/hubs/layout.yml": ""},
			"unreachable-file fleet/Layout.yaml: is not read as the layout; expected fleet/layout.yaml\nunreachable-file fleet/layout.yml: is not read as the layout; expected fleet/layout.yaml",
		},
		{
			"one name for two",
			fleettest.Tree{"addons/defaults/application-sets/addons.yaml": entryOf("dns", "dns-private"), fleettest.Member("private-one"): private},
			`duplicate-name fleet/fleet-members/hub/private-one.yaml: Application "dns-private-one": is component "dns" of group "addons" on cluster "private-one" and component "dns-private" of group "addons" on cluster "one"; expected one name for each; see fleet/fleet-members/hub/one.yaml`,
		},
		{"one name, another engine", fleettest.Tree{"addons/defaults/application-sets/addons.yaml": entryOf("dns", "dns-private"), fleettest.Member("private-one"): private + "use_remote_argo: true\nenable_remote_addons: true\nannotations: {argosy.dev/engine: external}\n"}, ""},
		{"one name, but retired", fleettest.Tree{"addons/defaults/application-sets/addons.yaml": entryOf("dns", "dns-private"), fleettest.Member("private-one"): private + "lifecycle: retired\n"}, ""},
		{
			"one component in two groups",
			fleettest.Tree{
				"resources/defaults/application-sets/resources.yaml": "dns: {enabled: true, selector: {matchLabels: {environment: dev}}, chart: {repoURL: r, name: c, version: '1'}}\n",
			},
			`duplicate-name fleet/fleet-members/hub/two.yaml: Application "dns-two": is component "dns" of group "resources" on cluster "two" and component "dns" of group "addons" on cluster "two"; expected one name for each; see fleet/fleet-members/hub/two.yaml`,
		},
		{
			"a component called as a release",
			fleettest.Tree{"addons/defaults/application-sets/addons.yaml": entryOf("dns", "application-sets-resources"), fleettest.Member("default"): fleettest.Spoke("default", "")},
			`duplicate-name fleet/fleet-members/hub/default.yaml: Application "application-sets-resources-default": is component "application-sets-resources" of group "addons" on cluster "default" and release "default" of group "resources"; expected one name for each; see fleet/fleet-members/hub/default.yaml`,
		},
		{
			"a component called as a registration and an agent",
			fleettest.Tree{"addons/defaults/application-sets/addons.yaml": entryOf("dns", "fleet-secret", "agent"), fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\nannotations: {argosy.dev/engine: external}\n"), fleettest.Member("two"): ""},
			`duplicate-name fleet/fleet-members/hub/one.yaml: Application "agent-one": is component "agent" of group "addons" on cluster "one" and the agent of cluster "one"; expected one name for each; see fleet/fleet-members/hub/one.yaml
duplicate-name fleet/fleet-members/hub/one.yaml: Application "fleet-secret-one": is component "fleet-secret" of group "addons" on cluster "one" and the registration of cluster "one"; expected one name for each; see fleet/fleet-members/hub/one.yaml`,
		},
		{
			"... in the member's own engine",
			fleettest.Tree{"addons/defaults/application-sets/addons.yaml": entryOf("dns", "fleet-secret"), fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\nenable_remote_addons: true\nannotations: {argosy.dev/engine: external}\n"), fleettest.Member("two"): ""},
			"",
		},
		{
			"names that cannot be deployed",
			fleettest.Tree{
				"addons/defaults/application-sets/addons.yaml":                    entryOf("dns") + strings.TrimSuffix(entryOf("ok"), "}\n") + ", releaseName: " + strings.Repeat("x", 53) + "}\n",
				"addons/tenants/retail/clusters/one/application-sets/addons.yaml": "dns: {namespace: 'n_{{ .tenant }}', releaseName: '{{ .cluster }}-" + strings.Repeat("x", 50) + "'}\n",
			},
			`invalid-value addons/tenants/retail/clusters/one/application-sets/addons.yaml:1:18: namespace of component "dns": "n_retail"; expected a DNS-1123 label
invalid-value addons/tenants/retail/clusters/one/application-sets/addons.yaml:1:50: releaseName of component "dns": "one-` + strings.Repeat("x", 50) + `"; expected a DNS-1123 name of at most 53 characters`,
		},
		{"ambiguous", fleettest.Tree{"addons/defaults/addons/dns/values.yaml": "on: 0123\n"}, "ambiguous-scalar addons/defaults/addons/dns/values.yaml:1:1: key on: Helm reads true, YAML 1.2 reads something else; put it in quotes, or write what you mean\nambiguous-scalar addons/defaults/addons/dns/values.yaml:1:5: value 0123: Helm reads 83, YAML 1.2 reads something else; put it in quotes, or write what you mean"},
		{"second document", fleettest.Tree{"addons/defaults/addons/dns/values.yaml": "a: 1\n---\nb: 2\n"}, "multiple-documents addons/defaults/addons/dns/values.yaml:2:1: a second document, which is not read; expected one document in a file"},
		{
			"conflict, once for all clusters",
			fleettest.Tree{"addons/defaults/addons/dns/values.yaml": "a: {b: 1}\n", "addons/tenants/defaults/addons/dns/values.yaml": "a: x\n"},
			`type-conflict addons/tenants/defaults/addons/dns/values.yaml:1:4: value "a": a string replaces a map; see addons/defaults/addons/dns/values.yaml:1:4; write null first to remove what lower layers set, or use the same type`,
		},
		{
			"option in the hierarchy",
			fleettest.Tree{"addons/tenants/defaults/application-sets/addons.yaml": "dns: {syncPolicy: {}}\n"},
			`unknown-key addons/tenants/defaults/application-sets/addons.yaml:1:19: key "syncPolicy" of component "dns": is not read in the hierarchy; expected one of enabled, chart, namespace, releaseName, selector, values, kind, dependsOn, substitute, companions; settings of the ApplicationSet belong into the values of charts/application-sets`,
		},
		{
			"unknown tenant",
			fleettest.Tree{"addons/tenants/retail/defaults/addons/dns/values.yaml": "a: 1\n", fleettest.Member("three"): "{clusterName: three, tenant: retial, environment: prod}\n"},
			`unknown-tenant fleet/fleet-members/hub/three.yaml: tenant "retial": has no folder in the hierarchy; did you mean "retail"?`,
		},
		{
			"unreachable",
			fleettest.Tree{"addons/defaults/addons/dsn/values.yaml": "a: 1\n", "addons/tenants/retail/clusters/onne/addons/dns/values.yaml": "a: 1\n", "addons/README.md": "x\n", "addons/defaults/addons/dns/values.yml": "a: 1\n"},
			"unreachable-file addons/README.md: no cluster and no component reads this file\nunreachable-file addons/defaults/addons/dns/values.yml: no cluster and no component reads this file; did you mean \"values.yaml\"?\nunreachable-file addons/defaults/addons/dsn/values.yaml: no cluster and no component reads this file; did you mean \"dns\"?\nunreachable-file addons/tenants/retail/clusters/onne/addons/dns/values.yaml: no cluster and no component reads this file; did you mean \"one\"?",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(c.more)))
			assert.Equal(t, c.want, querytest.Problems(lint.Run(st, expand.Tools{})))
		})
	}
}

// TestConflictsOfSharedLayersAreFoundOnce: lint looks at each layer of a tree once, however many
// clusters share it.
func TestConflictsOfSharedLayersAreFoundOnce(t *testing.T) {
	var system, tenant strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&system, "k%04d: {a: 1}\n", i)
		fmt.Fprintf(&tenant, "k%04d: 1\n", i)
	}
	files := fleettest.Small().With(fleettest.Tree{"addons/defaults/addons/dns/values.yaml": system.String(), "addons/tenants/retail/defaults/addons/dns/values.yaml": tenant.String()})
	conflicts := 0
	for _, p := range lint.Run(querytest.Build(t, files), expand.Tools{}) {
		if p.Reason == problem.TypeConflict {
			conflicts++
			if p.Severity != problem.Warning {
				t.Errorf("%s: %s", p.Severity, p.Error())
			}
		}
	}
	if conflicts != problem.OfFile+1 {
		t.Errorf("%d conflicts", conflicts)
	}
}

// TestMemberBeyondItsLimitIsNotResolvedAgain: what the state has given up resolving, lint does not
// resolve, component by component, with a limit for each. (H10)
func TestMemberBeyondItsLimitIsNotResolvedAgain(t *testing.T) {
	const cluster = "addons/tenants/retail/clusters/one/addons/"
	more := fleettest.Tree{fleettest.SystemCatalog: entryOf("a", "b", "c", "d", "e", "z"), "addons/defaults/addons/z/values.yaml": "k: {}\n", cluster + "z/values.yaml": "k: text\n"}
	conflicts := func() int {
		found := lint.Run(querytest.Build(t, fleettest.Small().With(more)), expand.Tools{})
		return len(slices.DeleteFunc(found, func(p problem.Problem) bool { return p.Reason != problem.TypeConflict }))
	}
	if n := conflicts(); n != 1 {
		t.Fatalf("%d conflicts before", n)
	}
	for _, component := range []string{"a", "b", "c", "d", "e"} {
		more[cluster+component+"/values.yaml.gotmpl"] = `{{ $s := repeat 1000000 "x" }}{{ range until 60 }}{{ $h := sha256sum $s }}{{ end }}k: 1` + "\n"
	}
	if n := conflicts(); n != 0 {
		t.Errorf("%d conflicts are found by resolving it", n)
	}
}

// TestDependencyCycleNamesBothPlaces: components that wait for each other are an error at each of
// them, over levels and further components, too. (P3)
func TestDependencyCycleNamesBothPlaces(t *testing.T) {
	const level = "addons/tenants/retail/defaults/application-sets/addons.yaml"
	entry := func(name, dependsOn string) string {
		return name + ": {enabled: true, dependsOn: [" + dependsOn + "], " + fleettest.DNSChart + "}\n"
	}
	for name, c := range map[string]struct {
		files fleettest.Tree
		want  string
	}{
		"itself": {
			fleettest.Tree{fleettest.SystemCatalog: entry("a", "addons/a")},
			fleettest.SystemCatalog + `:1:31: dependsOn of component "a": "addons/a" leads back to it: neither would ever be deployed; expected an order`,
		},
		"two levels": {
			fleettest.Tree{fleettest.SystemCatalog: entry("a", "b") + entry("b", ""), level: "b:  {dependsOn: [addons/a]}\n"},
			fleettest.SystemCatalog + `:1:31: dependsOn of component "a": "b" leads back to it, by dependsOn of component "b" at ` + level + `:1:17: neither would ever be deployed; expected an order` +
				"\n" + level + `:1:17: dependsOn of component "b": "addons/a" leads back to it, by dependsOn of component "a" at ` + fleettest.SystemCatalog + `:1:31: neither would ever be deployed; expected an order`,
		},
		"a way of three": {
			fleettest.Tree{fleettest.SystemCatalog: entry("a", "d, b") + entry("b", "c") + entry("c", "d, a, b") + entry("d", "")},
			fleettest.SystemCatalog + `:1:31: dependsOn of component "a": "b" leads back to it, by dependsOn of component "c" at ` + fleettest.SystemCatalog + `:3:31: neither would ever be deployed; expected an order` +
				"\n" + fleettest.SystemCatalog + `:2:31: dependsOn of component "b": "c" leads back to it, by dependsOn of component "c" at ` + fleettest.SystemCatalog + `:3:31: neither would ever be deployed; expected an order` +
				"\n" + fleettest.SystemCatalog + `:3:31: dependsOn of component "c": "a" leads back to it, by dependsOn of component "b" at ` + fleettest.SystemCatalog + `:2:31: neither would ever be deployed; expected an order` +
				"\n" + fleettest.SystemCatalog + `:3:31: dependsOn of component "c": "b" leads back to it, by dependsOn of component "b" at ` + fleettest.SystemCatalog + `:2:31: neither would ever be deployed; expected an order`,
		},
		"a cycle behind": {
			fleettest.Tree{fleettest.SystemCatalog: entry("a", "b") + entry("b", "b")},
			fleettest.SystemCatalog + `:2:31: dependsOn of component "b": "b" leads back to it: neither would ever be deployed; expected an order`,
		},
		"no cycle": {fleettest.Tree{fleettest.SystemCatalog: entry("a", "b, c") + entry("b", "c") + entry("c", "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range lint.Run(querytest.Build(t, fleettest.Small().With(c.files)), expand.Tools{}) {
				if p.Severity == problem.Error {
					got = append(got, p.Error())
				}
			}
			assert.Equal(t, c.want, strings.Join(got, "\n"))
		})
	}
}

// TestManyDependenciesTakeATimeOfTheirNumber is rule H10: layers of components of which each
// depends on all of the next, without a cycle and with one.
func TestManyDependenciesTakeATimeOfTheirNumber(t *testing.T) {
	const components, layers, most = 100, 4, 10 * race.Slack * time.Second
	var b strings.Builder
	b.WriteString("dns: {enabled: true, chart: &c {repoURL: https://charts.example, name: dns, version: 1.0.0}}\n")
	for layer := range layers {
		names := make([]string, components)
		for i := range names {
			names[i] = fmt.Sprintf("x%d-%d", layer+1, i)
		}
		list := fmt.Sprintf("&l%d [%s]", layer, strings.Join(names, ", "))
		for i := range components {
			fmt.Fprintf(&b, "x%d-%d: {enabled: true, chart: *c, dependsOn: %s}\n", layer, i, list)
			list = fmt.Sprintf("*l%d", layer)
		}
	}
	last := func(dependsOn string) string {
		var b strings.Builder
		for i := range components {
			fmt.Fprintf(&b, "x%d-%d: {enabled: true, chart: *c%s}\n", layers, i, dependsOn)
		}
		return b.String()
	}
	for name, tail := range map[string]string{"no cycle": last(""), "a cycle": last(", dependsOn: [x0-0]")} {
		st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{fleettest.OneCatalog: b.String() + tail})))
		began := time.Now()
		problems := lint.Run(st, expand.Tools{})
		took := time.Since(began)
		cycles := slices.ContainsFunc(problems, func(p problem.Problem) bool { return strings.Contains(p.Found, "leads back to it") })
		if took > most || cycles != (name == "a cycle") {
			t.Errorf("%s: %s, reported: %t", name, took, cycles)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}

// A name of dependsOn that no catalog has is a warning, with a hint.
func TestLintOfDependencies(t *testing.T) {
	st := querytest.NoProblems(t, querytest.Build(t, fleettest.Small().With(fleettest.Tree{
		fleettest.SystemCatalog: "dns: {enabled: true, " + fleettest.DNSChart + "}\nquotas: {enabled: true, " + fleettest.DNSChart + ", dependsOn: [dsn, dns]}\n",
	})))
	want := `no-effect ` + fleettest.SystemCatalog + `:2:105: dependsOn of component "quotas": names "dsn", which no catalog has; expected components of the same cluster, as component or group/component; did you mean "dns"?`
	assert.Equal(t, want, querytest.Problems(lint.Run(st, expand.Tools{})))
}
