package charts_test

import (
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// groups are the catalogs of the chart.
var groups = []string{"addons", "fleet", "monitoring", "provisioning", "resources"} // not teams, whose entries speak for team files

// fleetGroups are the groups of this repository's fleet.
var fleetGroups = append([]string{"teams", "workloads"}, groups...)

// entry is what a test reads of a catalog's component.
type entry struct {
	Enabled bool `json:"enabled"`
	Chart   struct {
		RepoURL string `json:"repoURL"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Path    string `json:"path"`
	} `json:"chart"`
	Namespace string `json:"namespace"`
	Selector  struct {
		MatchLabels      map[string]string `json:"matchLabels"`
		MatchExpressions []struct {
			Key      string   `json:"key"`
			Operator string   `json:"operator"`
			Values   []string `json:"values"`
		} `json:"matchExpressions"`
	} `json:"selector"`
	Values map[string]any `json:"values"`
}

// entries reads a catalog.
func entries(t *testing.T, group string) map[string]entry {
	t.Helper()
	data, err := os.ReadFile(catalog(group))
	require.NoError(t, err)
	var file struct {
		Components map[string]entry `json:"components"`
	}
	require.NoError(t, yaml.Unmarshal(data, &file))
	return file.Components
}

// TestCatalogs: each entry of each catalog is off, pinned, selected by labels, and renders once
// it is switched on.
func TestCatalogs(t *testing.T) {
	registry := regexp.MustCompile(`^(https://\S+|[a-z0-9.-]+(/[a-z0-9._-]+)+)$`)
	for _, group := range groups {
		var names []string
		for name, e := range entries(t, group) {
			names = append(names, name)
			t.Run(group+"/"+name, func(t *testing.T) {
				if e.Enabled {
					t.Error("is on; the hierarchy decides")
				}
				if !registry.MatchString(e.Chart.RepoURL) {
					t.Errorf("repoURL %q", e.Chart.RepoURL)
				}
				if e.Chart.Name != "" {
					if _, err := semver.StrictNewVersion(strings.TrimPrefix(e.Chart.Version, "v")); err != nil {
						t.Errorf("version %q is not one exact version", e.Chart.Version)
					}
				}
				if len(e.Selector.MatchLabels)+len(e.Selector.MatchExpressions) == 0 {
					t.Error("selects every cluster")
				}
			})
		}
		sort.Strings(names)
		t.Run(group+"/rendered", func(t *testing.T) {
			on := "group: " + group + "\ncomponents:\n"
			for _, name := range names {
				on += "  " + name + ": {enabled: true}\n"
			}
			sets := renderSets(t, catalog(group), valuesFile(t, on))
			if len(sets) != len(names) {
				t.Fatalf("%d ApplicationSets of %d components", len(sets), len(names))
			}
			for i, set := range sets {
				if want := group + "-default-" + names[i]; set.Name != want {
					t.Errorf("is called %s, not %s", set.Name, want)
				}
				if _, ok := baseOf(t, set)["enabled"]; ok {
					t.Errorf("%s: base says enabled", set.Name)
				}
			}
		})
	}
}

// TestCatalogsApart: a component's name is in one catalog only: Applications are called
// <component>-<cluster>, without the group (N1).
func TestCatalogsApart(t *testing.T) {
	home := map[string]string{}
	for _, group := range groups {
		for name := range entries(t, group) {
			if other, ok := home[name]; ok {
				t.Errorf("%s is in %s and in %s", name, other, group)
			}
			home[name] = group
		}
	}
}

// TestCatalogPaths: charts by path are charts of this repository.
func TestCatalogPaths(t *testing.T) {
	for _, group := range groups {
		for name, e := range entries(t, group) {
			if _, err := os.Stat(repo + "/" + e.Chart.Path + "/Chart.yaml"); e.Chart.Path != "" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestCatalogTemplates: every template of every catalog renders for a cluster without a single
// annotation, and uses those of one that has them (H5).
func TestCatalogTemplates(t *testing.T) {
	bare := factsOf(map[string]any{})
	full := factsOf(map[string]any{
		"aws_cluster_name": "eks-prod-1", "aws_region": "eu-central-1", "aws_vpc_id": "vpc-1", "karpenter_sqs_queue_name": "queue-1",
		"argocd_domain": "argocd.example.com", "fleet_repo_url": "https://git.example.com/fleet",
		"aws_account_id": "111122223333", "aws_role_crossplane": "arn:aws:iam::111122223333:role/crossplane", "aws_db_subnet_group": "databases",
	})
	for _, group := range groups {
		for name, e := range entries(t, group) {
			leaves(e.Values, name, func(path, text string) {
				if !strings.Contains(text, "{{") {
					return
				}
				parsed, err := tmpl.Parse(problem.Pos{File: catalog(group)}, text)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					return
				}
				without, err := parsed.Execute(bare)
				if err != nil || strings.Contains(without, "<no value>") {
					t.Errorf("%s: %q, %v", path, without, err)
				}
				with, err := parsed.Execute(full)
				if err != nil || strings.Contains(text, ".annotations") && with == without {
					t.Errorf("%s: %q with and without annotations, %v", path, with, err)
				}
			})
		}
	}
}

// factsOf are a cluster's, as templates see them.
func factsOf(annotations map[string]any) map[string]any {
	labels := map[string]any{"tenant": "retail", "environment": "prod", "fleet_member": "spoke"}
	return map[string]any{
		"member": map[string]any{"clusterName": "retail-prod-eu-1"},
		"name":   "retail-prod-eu-1", "cluster": "retail-prod-eu-1", "hub": "hub-eu", "tenant": "retail", "environment": "prod",
		"labels": labels, "annotations": annotations, "metadata": map[string]any{"labels": labels, "annotations": annotations},
	}
}

// leaves visits the texts of a tree.
func leaves(v any, path string, visit func(path, text string)) {
	switch v := v.(type) {
	case string:
		visit(path, v)
	case map[string]any:
		for k, x := range v {
			leaves(x, path+"."+k, visit)
		}
	case []any:
		for i, x := range v {
			leaves(x, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

// The ExternalSecrets own the Secrets of all clusters: nothing prunes their definitions.
func TestExternalSecretsKeepsItsDefinitions(t *testing.T) {
	crds, _ := entries(t, "fleet")["external-secrets"].Values["crds"].(map[string]any)
	annotations, _ := crds["annotations"].(map[string]any)
	if annotations["argocd.argoproj.io/sync-options"] != "Prune=false" || annotations["helm.sh/resource-policy"] != "keep" {
		t.Errorf("crds.annotations: %v", annotations)
	}
}
