package expand

import (
	"cmp"
	"path"
	"strings"
)

// A HelmRelease of an artifact is to Flux what an Application is to Argo CD: it names a chart, and what the chart is given.

// helmRelease is what a HelmRelease deploys.
type helmRelease struct {
	source  source
	cluster string // "" for the engine's own
}

// Deploys reports whether an object has charts or manifests deployed: an Application, or a HelmRelease whose sources are known.
func (o *Object) Deploys() bool { return o.Application() || o.release != nil }

// connect tells the HelmReleases of an artifact what they deploy. Suspended ones deploy nothing.
func connect(objects []*Object) {
	type named struct{ kind, name string }
	all := make(map[named]Tree, len(objects))
	for _, o := range objects {
		all[named{o.Kind(), o.Name()}] = o.Tree
	}
	for _, o := range objects {
		if suspended, _ := At(o.Tree, "spec", "suspend").(bool); suspended || !o.is("helm.toolkit.fluxcd.io", "HelmRelease") {
			continue
		}
		spec, _ := o.Tree["spec"].(Tree)
		var s source
		switch kind := cmp.Or(text(spec, "chartRef", "kind"), text(spec, "chart", "spec", "sourceRef", "kind")); kind {
		case "OCIRepository":
			from := all[named{kind, text(spec, "chartRef", "name")}]
			url, name := path.Split(strings.TrimPrefix(text(from, "spec", "url"), "oci://"))
			// Helm's way: a tag has no plus sign.
			s = source{repoURL: strings.TrimSuffix(url, "/"), chart: name, revision: strings.ReplaceAll(reference(from), "_", "+")}
		case "HelmRepository":
			from := all[named{kind, text(spec, "chart", "spec", "sourceRef", "name")}]
			s = source{repoURL: text(from, "spec", "url"), chart: text(spec, "chart", "spec", "chart"), revision: text(spec, "chart", "spec", "version")}
		case "GitRepository":
			from := all[named{kind, text(spec, "chart", "spec", "sourceRef", "name")}]
			s = source{repoURL: text(from, "spec", "url"), path: path.Clean(text(spec, "chart", "spec", "chart")), revision: reference(from)}
		}
		if s.repoURL == "" {
			continue
		}
		s.helm = Tree{"releaseName": text(spec, "releaseName"), "namespace": text(spec, "targetNamespace")}
		from, _ := spec["valuesFrom"].([]any)
		for _, v := range from { // internal/flux, rule 2: one ConfigMap
			s.helm["values"] = text(all[named{text(v, "kind"), text(v, "name")}], "data", text(v, "valuesKey"))
		}
		o.release = &helmRelease{source: s}
		o.of = entry{cluster: o.Label("argosy.dev/cluster"), group: o.Label("argosy.dev/group"), component: o.Label("argosy.dev/component")}
		if At(spec, "kubeConfig") != nil {
			o.release.cluster = o.of.cluster
		}
	}
}

// reference is the revision of a repository's object, whatever its kind is called.
func reference(from Tree) string {
	ref, _ := At(from, "spec", "ref").(Tree)
	return cmp.Or(text(ref, "commit"), text(ref, "name"), text(ref, "semver"), text(ref, "tag"), text(ref, "branch"))
}
