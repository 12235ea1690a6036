package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/migrate/factor"
)

// blueprint holds the fields of a component's ApplicationSet: components with equal ones share it.
type blueprint struct {
	template tree
	patch    string
	policy   tree // of the ApplicationSet itself
	waves    tree // its annotations that say when Argo CD syncs it
}

// cascade is the patch that gives an Application the cascading finalizer if its parameter set asks
// for it.
const cascade = `{{- if eq .deletion "cascade" }}
metadata:
  finalizers:
    - resources-finalizer.argocd.argoproj.io
{{- end }}
`

// maxParts bounds the parts of a path that texts of Applications may name.
const maxParts = 6

// templates returns the template of each Application. Texts by which the components of one
// ApplicationSet differ become templates over what their parameter sets say of them.
func (m *importer) templates(components map[string][]*application) map[*application]tree {
	out, bySet, namespaced, name := map[*application]tree{}, map[*applicationSet][]*application{}, map[string]bool{}, m.destinationName()
	for component, apps := range components {
		namespaced[component] = hasNamespaces(apps)
		for _, a := range apps {
			out[a] = m.templateOf(a, name, namespaced[component])
			bySet[a.set] = append(bySet[a.set], a)
		}
	}
	for _, apps := range bySet {
		if !slices.ContainsFunc(apps, func(a *application) bool { return a.component != apps[0].component }) {
			continue
		}
		phrases, of := factor.Clusters{}, map[string]any{}
		for i, a := range apps {
			facts := m.phrases[a.Cluster]
			facts.Own = []factor.Word{
				{Text: manifest.Text(a.source(), "path"), Template: "{{ .chart.path }}"},
				{Text: a.component, Template: "{{ .component }}"},
				{Text: manifest.Text(a.source(), "helm", "releaseName"), Template: "{{ .releaseName }}"},
				{},
			}
			if namespaced[a.component] {
				facts.Own[3] = factor.Word{Text: manifest.Text(a.Spec, "destination", "namespace"), Template: "{{ .namespace }}"}
			}
			parts := strings.Split(manifest.Text(a.source(), "path"), "/")
			for part := range maxParts {
				word := factor.Word{Template: fmt.Sprintf(`{{ index (splitList "/" .chart.path) %d }}`, part)}
				if part < len(parts) {
					word.Text = parts[part]
				}
				facts.Own = append(facts.Own, word)
			}
			phrases[strconv.Itoa(i)], of[strconv.Itoa(i)] = facts, out[a]
		}
		shared, rest := phrases.Unify(of, func([]string) bool { return false })
		common, _ := shared.(tree)
		for i, a := range apps {
			own, _ := rest[strconv.Itoa(i)].(tree)
			out[a] = factor.Overlay(common, own)
		}
	}
	return out
}

// blueprintOf returns the template of a component: what all of its Applications have in common, and
// a patch for the rest.
func (m *importer) blueprintOf(apps []*application, templates map[*application]tree) (blueprint, error) {
	trees := map[string]any{}
	for _, a := range apps {
		trees[a.Cluster] = templates[a]
	}
	shared, rest := m.phrases.Unify(trees, isOneTemplate)
	out := blueprint{policy: policyOf(apps[0].set.tree), waves: wavesOf(apps[0].set.tree)}
	out.template, _ = shared.(tree)
	patches, metadata := map[string]string{}, map[string]string{}
	for _, a := range apps {
		left, _ := rest[a.Cluster].(tree)
		left = maps.Clone(left)
		own := manifest.Copy(left["metadata"])
		delete(left, "metadata")
		if len(own) == 0 {
			own["annotations"] = tree{}
		}
		var err error
		if metadata[a.Cluster], err = yamlOf(own); err != nil {
			return blueprint{}, err
		}
		metadata[a.Cluster] = "  " + strings.ReplaceAll(strings.TrimSuffix(metadata[a.Cluster], "\n"), "\n", "\n  ") + "\n"
		if patches[a.Cluster], err = yamlOf(left); err != nil {
			return blueprint{}, err
		}
	}
	lines := func(condition string) string { return "{{-" + strings.TrimPrefix(condition, "{{") + "\n" }
	out.patch = m.phrases.Conditional(patches, lines)
	if out.patch != "" {
		out.patch = strings.TrimSuffix(out.patch, "\n") + "\n"
	}
	if len(slices.Compact(slices.Sorted(maps.Values(metadata)))) > 1 { // all have none if they are equal
		out.patch += "metadata:\n" + m.phrases.Conditional(metadata, lines) + strings.Replace(cascade, "metadata:\n", "", 1)
	} else {
		out.patch += cascade
	}
	return out, nil
}

// yamlOf returns a tree as YAML; empty for an empty one.
func yamlOf(t tree) (string, error) {
	if len(t) == 0 {
		return "", nil
	}
	text, err := yamldoc.FromAny(nil, t).YAML()
	return string(text), err
}

// isOneTemplate reports whether a patch may not set a path.
func isOneTemplate(at []string) bool {
	return len(at) == 2 && at[1] == "project" || len(at) > 1 && at[0] == "metadata"
}

// hasNamespaces reports whether all of a component's Applications name a namespace.
func hasNamespaces(apps []*application) bool {
	return !slices.ContainsFunc(apps, func(a *application) bool { return manifest.Text(a.Spec, "destination", "namespace") == "" })
}

// templateOf returns the template of one Application. Facts of its parameter set replace what the
// catalog and the hierarchy have, and the rest stays as it is.
func (m *importer) templateOf(a *application, destinationName string, namespaced bool) tree {
	main, list := manifest.Copy(a.source()), slices.Clone(a.sources())
	if list[a.main] = main; a.isChart() { // its values may be long, and are not part of the template
		helm := manifest.Copy(main["helm"])
		delete(helm, "values")
		main["helm"] = helm
	}
	spec := maps.Clone(a.Spec)
	spec["sources"] = list
	spec, _ = factor.EscapedAll(spec).(tree)
	destination := manifest.Copy(spec["destination"])
	destination["name"] = destinationName
	if namespaced {
		destination["namespace"] = "{{ .namespace }}"
	}
	spec["destination"] = destination
	list, _ = spec["sources"].([]any)
	main = manifest.Copy(list[a.main])
	for key, text := range map[string]string{"repoURL": "{{ .chart.repoURL }}", "path": "{{ .chart.path }}", "targetRevision": "{{ .chart.version }}"} {
		main[key] = text
	}
	delete(main, "chart")
	if a.isChart() {
		helm := manifest.Copy(main["helm"])
		helm["releaseName"], helm["values"] = "{{ .releaseName }}", "{{ .helmValues }}"
		main["helm"], main["chart"] = helm, "{{ .chart.name }}"
	}
	list[a.main] = main
	for i := range list {
		if values, ok := manifest.At(list[i], "helm", "values").(tree); ok { // of another chart
			text, err := yamldoc.FromAny(nil, values).YAML()
			if err != nil {
				text = manifest.Canonical(values)
			}
			other := manifest.Copy(list[i])
			helm := manifest.Copy(other["helm"])
			helm["values"], list[i] = string(text), other
			other["helm"] = helm
		}
	}
	delete(spec, "sources")
	if len(list) == 1 {
		spec["source"] = main
	} else {
		spec["sources"] = list
	}
	metadata, _ := factor.EscapedAll(a.metadata).(tree)
	metadata = manifest.Copy(metadata)
	labels := manifest.Copy(metadata["labels"])
	for key, fact := range map[string]string{"cluster": ".name", "component": ".component", "environment": ".environment", "group": ".group", "release": ".release", "tenant": ".tenant"} {
		labels["argosy.dev/"+key] = "{{ " + fact + " }}"
	}
	metadata["labels"], metadata["name"] = labels, "{{ .applicationName }}"
	return tree{"metadata": metadata, "spec": spec}
}

// destinationName returns the template of a cluster's name in Argo CD: the member's name, except
// for clusters whose name no member can have.
func (m *importer) destinationName() string {
	texts, names := map[string]string{}, factor.Clusters{} // only by name: the next cluster has the same environment
	for _, cluster := range slices.Sorted(maps.Keys(m.members)) {
		names[cluster] = factor.Facts{Name: m.members[cluster].Name}
		if texts[cluster] = "{{ .name }}"; m.members[cluster].Name != cluster {
			texts[cluster] = factor.Escaped(cluster)
		}
	}
	return names.Conditional(texts, func(s string) string { return s })
}

// policyOf returns the fields of an ApplicationSet besides its generators and template.
func policyOf(set tree) tree {
	spec, _ := set["spec"].(tree)
	out := tree{}
	for _, key := range []string{"strategy", "ignoreApplicationDifferences", "preservedFields"} {
		if v, ok := spec[key]; ok {
			out[key] = v
		}
	}
	policy := manifest.Copy(spec["syncPolicy"])
	policy["preserveResourcesOnDeletion"] = true
	out["syncPolicy"] = policy
	return out
}

// wavesOf returns the annotations of an ApplicationSet that say when and how Argo CD syncs it.
func wavesOf(set tree) tree {
	out := manifest.Copy(manifest.At(set, "metadata", "annotations"))
	maps.DeleteFunc(out, func(key string, _ any) bool {
		return key != "argocd.argoproj.io/sync-wave" && key != "argocd.argoproj.io/sync-options"
	})
	return out
}
