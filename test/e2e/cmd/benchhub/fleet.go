package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A form is how a repository and its ApplicationSets are written.
type form string

const (
	// plain is a nested matrix of the cluster generator with Git files: one file with the values of
	// all components for each cluster, and for each environment.
	plain form = "plain"
	// folders is plain with a file for each component, as the reference fleet has it.
	folders form = "plain, a file for each component"
	// argosy is one plugin ApplicationSet for each component.
	argosy form = "Argosy"
)

const (
	hubName      = "hub"
	tenants      = 5
	environments = 2
	// teams is the number of (tenant, environment), each with values of its own.
	teams = tenants * environments
)

// fleet is what both forms write. Edits count the changes of a place by its name.
type fleet struct {
	clusters, components int
	edits                map[string]int
}

func cluster(i int) string     { return fmt.Sprintf("cluster-%03d", i) }
func addon(j int) string       { return fmt.Sprintf("component-%02d", j) }
func tenant(i int) string      { return fmt.Sprintf("tenant-%d", i%tenants) }
func environment(i int) string { return []string{"dev", "prod"}[i/tenants%environments] }

func labels(i int) map[string]string {
	return map[string]string{"fleet_member": "spoke", "tenant": tenant(i), "environment": environment(i)}
}

// A step is a push, and how many Applications it writes.
type step struct {
	name   string
	edit   string // the place that it changes; none for a new member
	writes int
}

// steps are the pushes of a round.
func (f *fleet) steps(round int) []step {
	e := round % teams
	members := 0
	for i := range f.clusters {
		if i%teams == e {
			members++
		}
	}
	return []step{
		{"one cluster's value", fmt.Sprintf("cluster/%d/%d", 3+round, 5+round), 1},
		{"one environment's value", fmt.Sprintf("environment/%d/%d", e, 1+round), members},
		{"one release", fmt.Sprintf("version/%d", 2+round), f.clusters},
		{"one new member", "", f.components},
	}
}

// catalogEntry, environmentValues and clusterValues are the three levels of a component.
func (f *fleet) catalogEntry(j int) map[string]any {
	return map[string]any{
		"version": fmt.Sprintf("1.%d.%d", j, f.edits[fmt.Sprintf("version/%d", j)]),
		"values": map[string]any{
			"replicas": 2, "image": map[string]any{"repository": "registry.example.com/" + addon(j), "tag": fmt.Sprintf("v1.%d", j)},
			"resources":   map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"memory": "512Mi"}},
			"tolerations": []any{map[string]any{"key": "dedicated", "operator": "Equal", "value": "system", "effect": "NoSchedule"}},
			"service":     map[string]any{"type": "ClusterIP", "port": 8000 + j}, "metrics": map[string]any{"enabled": true, "port": 9000 + j},
		},
	}
}

func (f *fleet) environmentValues(e, j int) map[string]any {
	return map[string]any{
		"replicas": 3, "logLevel": []string{"debug", "info"}[e/tenants%environments],
		"resources": map[string]any{"requests": map[string]any{"cpu": fmt.Sprintf("%dm", 200+10*e)}},
		"ingress":   map[string]any{"host": fmt.Sprintf("%s.%s.%s.example.com", addon(j), environment(e), tenant(e))},
		"edition":   1 + f.edits[fmt.Sprintf("environment/%d/%d", e, j)],
	}
}

func (f *fleet) clusterValues(i, j int) map[string]any {
	return map[string]any{
		"clusterName": cluster(i), "resources": map[string]any{"limits": map[string]any{"memory": fmt.Sprintf("%dMi", 512+i)}},
		"clusterEdition": 1 + f.edits[fmt.Sprintf("cluster/%d/%d", i, j)],
	}
}

// folderOf are the folders of a level, as argosy's default layout has them.
func folderOf(i int, level, name string) string {
	return fmt.Sprintf("addons/tenants/%s/%s/%s", tenant(i), level, name)
}

// files are the repository's.
func (f *fleet) files(as form) map[string]string {
	files := map[string]string{}
	if as == argosy {
		files["fleet/layout.yaml"] = "apiVersion: argosy.dev/v1alpha1\nkind: Layout\ngroups: {monitoring: null, resources: null}\n"
		files["versions/applicationSets.yaml"] = "releases:\n  globals: {use_helm_repo_path: \"true\", chartRepoUrl: https://git.example.com/platform.git, chartRepoPath: charts/application-sets}\n" +
			"  addons:\n    - {type: default, chartRepoRevision: v1.4.0}\n"
		files["versions/fleetSecrets.yaml"] = "releases:\n  - {type: default, use_helm_repo_path: \"true\", chartRepoUrl: https://git.example.com/platform.git, " +
			"chartRepoPath: charts/fleet-secret, chartRepoRevision: v1.4.0}\n"
		files["fleet/fleet-members/hub/hub.yaml"] = "clusterName: hub\ntenant: platform\nenvironment: prod\nfleet_member: hub-cluster\n"
	}
	components := map[string]any{}
	for j := range f.components {
		entry := f.catalogEntry(j)
		if as == argosy {
			components[addon(j)] = map[string]any{
				"enabled": true, "chart": map[string]any{"repoURL": "https://charts.example.com", "name": addon(j), "version": entry["version"]},
			}
			files["addons/defaults/addons/"+addon(j)+"/values.yaml"] = text(entry["values"])
		} else {
			components[addon(j)] = entry
		}
	}
	if as == argosy {
		files["addons/defaults/application-sets/addons.yaml"] = text(map[string]any{"components": components})
	} else {
		files["addons/catalog.yaml"] = text(map[string]any{"catalog": components})
	}
	level := func(folder, key string, values func(j int) map[string]any) {
		all := map[string]any{}
		for j := range f.components {
			path := fmt.Sprintf("%s/addons/%s/values.yaml", folder, addon(j))
			switch as {
			case argosy:
				files[path] = text(values(j))
			case folders:
				files[path] = text(map[string]any{key: map[string]any{addon(j): values(j)}})
			case plain:
				all[addon(j)] = values(j)
			}
		}
		if as == plain {
			files[folder+"/values.yaml"] = text(map[string]any{key: all})
		}
	}
	for e := range teams {
		level(folderOf(e, "environments", environment(e)), "environmentValues", func(j int) map[string]any { return f.environmentValues(e, j) })
	}
	for i := range f.clusters {
		level(folderOf(i, "clusters", cluster(i)), "clusterValues", func(j int) map[string]any { return f.clusterValues(i, j) })
		if as == argosy {
			files["fleet/fleet-members/hub/"+cluster(i)+".yaml"] = fmt.Sprintf("clusterName: %s\ntenant: %s\nenvironment: %s\nsecretManagerSecretName: hub/%[1]s\n",
				cluster(i), tenant(i), environment(i))
		}
	}
	return files
}

// chartValues are those of charts/application-sets: the catalog of the release.
func (f *fleet) chartValues() string {
	components := map[string]any{}
	for j := range f.components {
		components[addon(j)] = map[string]any{
			"enabled": true, "namespace": addon(j), "selector": map[string]any{"matchLabels": map[string]any{"fleet_member": "spoke"}},
			"chart": map[string]any{"repoURL": "https://charts.example.com", "name": addon(j), "version": f.catalogEntry(j)["version"]},
		}
	}
	return text(map[string]any{"group": "addons", "hub": hubName, "components": components})
}

// nested rewrites the plugin ApplicationSet of a component: its generator becomes the nested
// matrix, and its template reads what that has. Everything else stays, so that both make the same
// Applications.
func nested(set *unstructured.Unstructured, as form, url string) {
	spec, _ := set.Object["spec"].(map[string]any)
	name := set.GetLabels()["argosy.dev/component"]
	file := "values.yaml"
	if as == folders {
		file = "addons/" + name + "/values.yaml"
	}
	git := func(prefix, path string) map[string]any {
		return map[string]any{"git": map[string]any{
			"repoURL": url, "revision": "main", "requeueAfterSeconds": 1800, "pathParamPrefix": prefix, "files": []any{map[string]any{"path": path}},
		}}
	}
	matrix := func(a, b map[string]any) map[string]any {
		return map[string]any{"matrix": map[string]any{"generators": []any{a, b}}}
	}
	ofTenant := "addons/tenants/{{ .metadata.labels.tenant }}/"
	spec["generators"] = []any{matrix(
		matrix(
			git("catalogFile", "addons/catalog.yaml"),
			map[string]any{"clusters": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"fleet_member": "spoke"}}}},
		),
		matrix(
			git("environmentFile", ofTenant+"environments/{{ .metadata.labels.environment }}/"+file),
			git("clusterFile", ofTenant+"clusters/{{ .name }}/"+file),
		),
	)}
	delete(spec, "templatePatch")
	template, _ := spec["template"].(map[string]any)
	metadata, _ := template["metadata"].(map[string]any)
	metadata["name"] = name + "-{{ .name }}"
	delete(metadata, "annotations")
	own, _ := metadata["labels"].(map[string]any)
	maps.Copy(own, map[string]any{
		"argosy.dev/tenant": "{{ .metadata.labels.tenant }}", "argosy.dev/environment": "{{ .metadata.labels.environment }}",
	})
	app, _ := template["spec"].(map[string]any)
	app["destination"] = map[string]any{"name": "{{ .name }}", "namespace": name}
	app["source"] = map[string]any{
		"repoURL": "https://charts.example.com", "chart": name, "targetRevision": fmt.Sprintf("{{ (index .catalog %q).version }}", name),
		"helm": map[string]any{"releaseName": name, "values": fmt.Sprintf(
			"{{ mergeOverwrite (deepCopy (index .catalog %q).values) (index .environmentValues %[1]q) (index .clusterValues %[1]q) | toYaml }}", name)},
	}
}

func text(value any) string {
	out, err := yaml.Marshal(value)
	if err != nil { // maps of plain values cannot fail
		return err.Error()
	}
	return string(out)
}

// different says which Applications two sides do not have alike.
func different(a, b map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			out = append(out, name)
		}
	}
	for name := range b {
		if _, both := a[name]; !both {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("%d Applications differ (%s ...):\n%s\n%s", len(out), strings.Join(out[:min(5, len(out))], ", "), a[out[0]], b[out[0]])
}
