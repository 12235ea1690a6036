package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/migrate/factor"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// entries returns a component's catalog entries by cluster: where its chart is, and how it is
// installed. Texts that differ become templates over the facts, where there is one.
func (m *importer) entries(apps []*application) map[string]tree {
	out := map[string]tree{}
	set := func(path []string, of func(*application) string) {
		texts := map[string]string{}
		for _, a := range apps {
			if v := of(a); v != "" {
				texts[a.Cluster] = v
			}
		}
		phrase, ok := m.phrases.Phrase(texts)
		for cluster, text := range texts {
			if text = factor.Escaped(text); ok {
				text = phrase
			}
			var v any = text
			for _, key := range slices.Backward(path) {
				v = tree{key: v}
			}
			entry, _ := v.(tree)
			out[cluster] = factor.Overlay(out[cluster], entry)
		}
	}
	source := func(key string) func(*application) string {
		return func(a *application) string { return manifest.Text(a.source(), key) }
	}
	set([]string{"chart", "repoURL"}, source("repoURL"))
	set([]string{"chart", "name"}, source("chart"))
	set([]string{"chart", "path"}, source("path"))
	set([]string{"chart", "version"}, source("targetRevision"))
	if hasNamespaces(apps) {
		set([]string{"namespace"}, func(a *application) string { return manifest.Text(a.Spec, "destination", "namespace") })
	}
	set([]string{"releaseName"}, func(a *application) string { return manifest.Text(a.source(), "helm", "releaseName") })
	if m.kept != nil && apps[0].isChart() {
		over := map[string]any{}
		for _, a := range apps {
			if values := a.Values[a.main].Over; len(values) > 0 {
				over[a.Cluster] = factor.EscapedAll(values)
			}
		}
		shared, rest := m.phrases.Unify(over, func([]string) bool { return false })
		for cluster := range over {
			for _, values := range []any{shared, rest[cluster]} {
				if values != nil {
					out[cluster] = factor.Overlay(out[cluster], tree{"values": values})
				}
			}
		}
	}
	if !apps[0].isChart() {
		set([]string{"kind"}, func(*application) string { return "manifests" })
	}
	return out
}

// catalogs returns the catalog entries of all components by folder. The folder of the least
// specific level stands for the group's catalog.
func (m *importer) catalogs(components map[string][]*application) map[string]tree {
	places, base := m.places(), m.base()
	out := map[string]tree{}
	for _, name := range slices.Sorted(maps.Keys(components)) {
		apps := components[name]
		byFolder := factor.ByLevel(places, m.entries(apps))
		if byFolder[base] == nil {
			byFolder[base] = tree{}
		}
		if m.kept != nil && m.kept.folders[name] != "" {
			byFolder[base]["folder"] = m.kept.folders[name]
		}
		byFolder[base]["enabled"] = false
		if selector := m.selector(apps); selector != nil {
			byFolder[base]["enabled"], byFolder[base]["selector"] = true, selector
		} else {
			runs := map[string]tree{}
			for cluster := range m.members {
				runs[cluster] = tree{}
			}
			for _, a := range apps {
				runs[a.Cluster] = tree{"enabled": true}
			}
			for folder, enabled := range factor.ByLevel(places, runs) {
				byFolder[folder] = factor.Overlay(byFolder[folder], enabled)
			}
		}
		for folder, entry := range byFolder {
			out[folder] = factor.Overlay(out[folder], tree{"components": tree{name: entry}})
		}
	}
	return out
}

// selector returns the selector of a component's cluster generators, where only it decides which
// members run the component; nil where it does not.
func (m *importer) selector(apps []*application) tree {
	var found tree
	for _, a := range apps {
		of := selectorsOf(manifest.At(a.set.tree, "spec", "generators"))
		if len(of) != 1 || found != nil && !verify.Equal(found, of[0]) {
			return nil
		}
		found = of[0]
	}
	if found = withoutSecretType(found); len(found) == 0 {
		return nil
	}
	selector, err := labels.ParseSelector(found)
	if err != nil {
		return nil
	}
	runs := map[string]bool{}
	for _, a := range apps {
		runs[a.Cluster] = true
	}
	for cluster, member := range m.members {
		own := map[string]string{} // as the fleet has them
		for _, pair := range slices.Concat(member.Labels, member.Flags) {
			key, value, _ := strings.Cut(pair, "=")
			own[key] = value
		}
		own["tenant"], own["environment"], own["fleet_member"] = member.Tenant, member.Environment, "spoke"
		if member.HubCluster {
			own["fleet_member"] = "hub-cluster"
		}
		if selector.Matches(own) != runs[cluster] {
			return nil
		}
	}
	return found
}

// selectorsOf returns the selectors of cluster generators.
func selectorsOf(generators any) (out []tree) {
	each(generators, func(g tree) bool {
		if s, ok := manifest.At(g, "clusters", "selector").(tree); ok {
			out = append(out, s)
		}
		return true
	})
	return out
}

// withoutSecretType removes the label that all cluster Secrets have.
func withoutSecretType(selector tree) tree {
	out, match := maps.Clone(selector), manifest.Copy(selector["matchLabels"])
	delete(match, labels.SecretType)
	if delete(out, "matchLabels"); len(match) > 0 {
		out["matchLabels"] = match
	}
	return out
}

// values returns the value files of all components by path.
func (m *importer) values(components map[string][]*application) map[string]tree {
	out := map[string]tree{}
	for name, apps := range components {
		if !apps[0].isChart() {
			continue
		}
		of := map[string]tree{}
		for _, a := range apps {
			of[a.Cluster] = a.values()
		}
		for folder, values := range factor.ByLevel(m.places(), of) {
			out[fmt.Sprintf("%s/%s/%s/values.yaml", folder, m.o.Group, name)] = values
		}
	}
	return out
}
