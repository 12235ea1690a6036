package facts

import "github.com/argosy-hub/argosy/internal/base/yamldoc"

// fileHead is the comment that File begins with.
const fileHead = `# What a hub knows of its clusters, for places that cannot ask it (argosy --facts FILE). Labels and annotations, no credentials.
# Written by argosy facts export.
`

// File returns the set as a facts file, which Parse reads as the same set, except for Secrets'
// UIDs: clusters, Applications and HelmReleases. The same set gives the same bytes.
func (s Set) File() ([]byte, error) {
	clusters := []any{}
	for _, name := range s.Names() {
		c := s.clusters[name]
		item := map[string]any{"name": c.Name}
		if c.Server != "" {
			item["server"] = c.Server
		}
		if len(c.Labels) > 0 {
			item["labels"] = anyMap(c.Labels)
		}
		if len(c.Annotations) > 0 {
			item["annotations"] = anyMap(c.Annotations)
		}
		clusters = append(clusters, item)
	}
	root := map[string]any{"apiVersion": "argosy.dev/v1alpha1", "kind": "Facts", "clusters": clusters}
	if s.Closed {
		root["closed"] = true
	}
	if s.applications != nil {
		all := items(s.applications.sorted, "")
		if s.health { // where it is known, each has it
			for i, a := range s.applications.sorted {
				if item, is := all[i].(map[string]any); is {
					item["healthy"] = a.Healthy
				}
			}
		}
		root["applications"] = all
	}
	if s.helmReleases != nil {
		root["helmReleases"] = items(s.helmReleases.sorted, "")
		root["kustomizations"] = items(s.helmReleases.sorted, Kustomization)
	}
	data, err := yamldoc.FromAny(nil, root).YAML()
	if err != nil {
		return nil, err
	}
	return append([]byte(fileHead), data...), nil
}

// items returns the items of a kind.
func items(all []Application, kind string) []any {
	out := []any{}
	for _, a := range all {
		if a.Kind != kind {
			continue
		}
		item := map[string]any{"name": a.Name}
		for key, value := range map[string]string{
			"cluster": a.Cluster, "group": a.Group, "component": a.Component, "release": a.Release, "owner": a.Owner, "controller": a.Controller,
			"digest": a.Digest,
		} {
			if value != "" {
				item[key] = value
			}
		}
		// An Application of Argo CD, which has no owner, always has the key healthy.
		for key, value := range map[string]bool{"cascade": a.Cascade, "suspended": a.Suspended, "healthy": a.Healthy && a.Owner != ""} {
			if value {
				item[key] = value
			}
		}
		out = append(out, item)
	}
	return out
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
