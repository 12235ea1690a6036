package importer

import (
	"fmt"
	"maps"
	"slices"
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

// blueprintOf returns the template of a component: what all of its Applications have in common, and
// a patch for the rest.
func (m *importer) blueprintOf(apps []*application) (blueprint, error) {
	namespaced, name := hasNamespaces(apps), m.destinationName()
	trees := map[string]any{}
	for _, a := range apps {
		trees[a.Cluster] = m.templateOf(a, name, namespaced)
	}
	shared, rest := m.phrases.Unify(trees, isOneTemplate)
	out := blueprint{policy: policyOf(apps[0].set.tree), waves: wavesOf(apps[0].set.tree)}
	out.template, _ = shared.(tree)
	patches := map[string]string{}
	for cluster, left := range rest {
		t, _ := left.(tree)
		if metadata, ok := t["metadata"]; ok {
			m.report(apps[0].set.pos, fmt.Sprintf("component %q", apps[0].component), "labels or annotations that only some of its Applications have are left out: "+oneLine(string(manifest.Canonical(metadata))))
			t = maps.Clone(t)
			delete(t, "metadata")
		}
		patches[cluster] = ""
		if len(t) > 0 {
			text, err := yamldoc.FromAny(nil, t).YAML()
			if err != nil {
				return blueprint{}, err
			}
			patches[cluster] = string(text)
		}
	}
	if len(patches) > 0 {
		for _, a := range apps {
			if _, ok := patches[a.Cluster]; !ok {
				patches[a.Cluster] = ""
			}
		}
		out.patch = m.phrases.Conditional(patches, func(condition string) string { return "{{-" + strings.TrimPrefix(condition, "{{") + "\n" })
	}
	if out.patch != "" {
		out.patch = strings.TrimSuffix(out.patch, "\n") + "\n"
	}
	out.patch += cascade
	return out, nil
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
	out := tree{}
	for _, key := range []string{"argocd.argoproj.io/sync-wave", "argocd.argoproj.io/sync-options"} {
		if text := manifest.Text(set, "metadata", "annotations", key); text != "" {
			out[key] = text
		}
	}
	return out
}
