// Package fleettest makes fleets of any size for tests, benchmarks and demonstrations.
//
//	files := fleettest.Files(fleettest.Options{Clusters: 50, Components: 4, Tenants: 2})
//	// files["fleet/fleet-members/hub-1/cluster-00000.yaml"] is the file of the first member
//
// Callers may rely on:
//
//  1. A fleet is a pure function of its Options: the same options give the same bytes.
//  2. Its shape is realistic. Clusters share a few system-wide and tenant-wide files and some for
//     each environment; each cluster has files of its own for some components.
//  3. It is a valid fleet without findings, with the default layout.
package fleettest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options is the size of a fleet. Zero values are replaced by the values of Default.
type Options struct {
	// Clusters is the number of spokes. Each hub also has a member file of its own.
	Clusters int
	// Hubs is the number of hubs, which share the spokes in equal consecutive parts; 0 means one,
	// Hub.
	Hubs int
	// Components is the number of components of the group addons.
	Components int
	Tenants    int
	// Overrides is the number of components for which a cluster has its own values file.
	Overrides int
	Seed      uint64
}

// Default is a fleet of 1,000 clusters, 20 components and 5 tenants, in which a cluster overrides 3
// components.
var Default = Options{Clusters: 1000, Components: 20, Tenants: 5, Overrides: 3, Seed: 1}

// Hub is the name of the first hub, Group the name of the group with all components.
const (
	Hub   = "hub-1"
	Group = "addons"
)

// Environments of a generated fleet.
var Environments = []string{"dev", "staging", "prod"}

// Cluster returns the name of the i-th spoke.
func Cluster(i int) string { return fmt.Sprintf("cluster-%05d", i) }

// Component returns the name of the i-th component.
func Component(i int) string { return fmt.Sprintf("component-%03d", i) }

// Tenant returns the i-th spoke's tenant.
func (o Options) Tenant(i int) string { return fmt.Sprintf("tenant-%d", i%o.filled().Tenants) }

// Environment returns the i-th spoke's environment.
func (o Options) Environment(i int) string {
	return Environments[i/o.filled().Tenants%len(Environments)]
}

func (o Options) filled() Options {
	fill := func(v *int, fallback int) {
		if *v == 0 {
			*v = fallback
		}
	}
	fill(&o.Clusters, Default.Clusters)
	fill(&o.Hubs, 1)
	fill(&o.Components, Default.Components)
	fill(&o.Tenants, Default.Tenants)
	if o.Overrides < 0 || o.Overrides > o.Components {
		o.Overrides = o.Components
	}
	return o
}

// Files returns the fleet's files by path.
func Files(o Options) map[string]string {
	o = o.filled()
	g := generator{Options: o, rand: rand.New(rand.NewPCG(o.Seed, 0)), files: map[string]string{}}
	g.versions()
	g.members()
	g.values()
	return g.files
}

// Write writes files below a folder.
func Write(dir string, files map[string]string) error {
	for _, p := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, []byte(files[p]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

type generator struct {
	Options
	rand  *rand.Rand
	files map[string]string
}

func (g *generator) versions() {
	g.files["versions/applicationSets.yaml"] = `releases:
  globals: {use_helm_repo_path: "true", chartRepoUrl: https://git.example.com/platform.git, chartRepoPath: charts/application-sets}
  addons:
    - {type: default, chartRepoRevision: v1.4.0}
    - {type: canary, chartRepoRevision: v1.5.0-rc.1}
`
	g.files["versions/fleetSecrets.yaml"] = `releases:
  - {type: default, use_helm_repo_path: "true", chartRepoUrl: https://git.example.com/platform.git, chartRepoPath: charts/fleet-secret, chartRepoRevision: v1.4.0}
`
}

func (g *generator) members() {
	for i := range g.Hubs {
		hub := hubName(i)
		g.files[fmt.Sprintf("fleet/fleet-members/%s/%s.yaml", hub, hub)] = fmt.Sprintf(
			"clusterName: %s\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n", hub)
	}
	for i := range g.Clusters {
		canary := ""
		if i%50 == 0 {
			canary = "labels:\n  addonsRelease: canary\n"
		}
		hub := hubName(i * g.Hubs / g.Clusters)
		g.files[fmt.Sprintf("fleet/fleet-members/%s/%s.yaml", hub, Cluster(i))] = fmt.Sprintf(
			"clusterName: %s\ntenant: %s\nenvironment: %s\nsecretManagerSecretName: %s/%s\n%s",
			Cluster(i), g.Tenant(i), g.Environment(i), hub, Cluster(i), canary)
	}
}

// hubName returns the name of the i-th hub; the first is Hub.
func hubName(i int) string { return fmt.Sprintf("hub-%d", i+1) }

// values writes the five levels.
func (g *generator) values() {
	var catalog strings.Builder
	catalog.WriteString("components:\n")
	for c := range g.Components {
		fmt.Fprintf(&catalog, "  %s:\n    enabled: true\n    chart: {repoURL: https://charts.example.com, name: %[1]s, version: 1.%d.0}\n", Component(c), c)
		g.put("addons/defaults", c, 6)
		g.put("addons/tenants/defaults", c, 3)
		for t := range g.Tenants {
			tenant := fmt.Sprintf("addons/tenants/tenant-%d/", t)
			g.put(tenant+"defaults", c, 3)
			for _, e := range Environments {
				g.put(tenant+"environments/"+e, c, 2)
			}
		}
	}
	g.files["addons/defaults/application-sets/addons.yaml"] = catalog.String()
	for i := range g.Clusters {
		for n := range g.Overrides {
			g.put(fmt.Sprintf("addons/tenants/%s/clusters/%s", g.Tenant(i), Cluster(i)), (i+n)%g.Components, 1)
		}
	}
}

// put writes a component's values at a level, with so many blocks.
func (g *generator) put(dir string, component, blocks int) {
	var b strings.Builder
	level := filepath.Base(dir)
	fmt.Fprintf(&b, "# %s of %s\nreplicaCount: %d\nlogLevel: %s\n", Component(component), level, 1+g.rand.IntN(5), g.pick("info", "debug", "warn"))
	fmt.Fprintf(&b, "image:\n  tag: v1.%d.%d\n  pullPolicy: IfNotPresent\n", g.rand.IntN(30), g.rand.IntN(10))
	for i := range blocks {
		fmt.Fprintf(&b, "section%d:\n  enabled: %t\n  resources:\n    requests: {cpu: %dm, memory: %dMi}\n    limits:\n      memory: %dMi\n",
			i, g.rand.IntN(2) == 0, 10*(1+g.rand.IntN(50)), 64*(1+g.rand.IntN(8)), 512)
		fmt.Fprintf(&b, "  tolerations:\n    - key: dedicated\n      operator: Equal\n      value: %s\n      effect: NoSchedule\n  annotations:\n    example.com/owner: \"%s-%d\"\n",
			g.pick("system", "apps", "batch"), level, g.rand.IntN(100))
	}
	g.files[fmt.Sprintf("%s/%s/%s/values.yaml", dir, Group, Component(component))] = b.String()
}

func (g *generator) pick(options ...string) string { return options[g.rand.IntN(len(options))] }
