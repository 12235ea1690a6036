package flux

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// helmRelease returns the chart of a HelmRelease with its values and options.
func (l Linker) helmRelease(o *object.Object) source.Source {
	spec, _ := o.Tree["spec"].(manifest.Tree)
	s := l.releasedChart(o, spec)
	if s.Err == nil {
		s.Values, s.Err = l.releaseValues(o, spec)
	}
	for _, key := range []string{"postRenderers", "commonMetadata"} {
		if s.Err == nil && manifest.At(spec, key) != nil {
			s.Err = source.NotFollowed{Text: fmt.Sprintf("what the chart makes is changed by spec.%s, which is not followed", key)}
		}
	}
	if s.Err == nil && manifest.At(spec, "chart", "spec", "valuesFiles") != nil {
		s.Err = source.NotFollowed{Text: "spec.chart.spec.valuesFiles is not followed"}
	}
	namespace := manifest.Text(spec, "targetNamespace")
	name := o.Name()
	if namespace != "" {
		name = namespace + "-" + name
	}
	s.Helm = manifest.Tree{"releaseName": cmp.Or(manifest.Text(spec, "releaseName"), shortened(name)), "namespace": cmp.Or(namespace, o.Namespace())}
	if manifest.Text(spec, "install", "crds") == "Skip" {
		s.Helm["skipCrds"] = true
	}
	return s
}

// releasedChart finds the chart of a HelmRelease.
func (l Linker) releasedChart(o *object.Object, spec manifest.Tree) source.Source {
	ref, _ := manifest.At(spec, "chartRef").(manifest.Tree)
	if ref == nil {
		ref, _ = manifest.At(spec, "chart", "spec", "sourceRef").(manifest.Tree)
	}
	kind, name, chart := manifest.Text(ref, "kind"), manifest.Text(ref, "name"), manifest.Text(spec, "chart", "spec", "chart")
	from := l.refers(o, kind, cmp.Or(manifest.Text(ref, "namespace"), o.Namespace()), name)
	switch {
	case from == nil && kind != "GitRepository" && !l.Renders:
		return source.Source{} // nothing renders it
	case from == nil:
		return source.Source{Err: source.NotFollowed{Text: fmt.Sprintf("its chart is not followed: nothing that is makes %s %q", kind, name), Hint: besideIt}}
	case kind == "OCIRepository":
		url, name := path.Split(strings.TrimPrefix(manifest.Text(from.Tree, "spec", "url"), "oci://"))
		// Helm writes a version's plus sign as _ in a tag.
		return source.Source{RepoURL: strings.TrimSuffix(url, "/"), Chart: name, Revision: strings.ReplaceAll(reference(from.Tree), "_", "+")}
	case kind == "HelmRepository":
		return source.Source{RepoURL: manifest.Text(from.Tree, "spec", "url"), Chart: chart, Revision: manifest.Text(spec, "chart", "spec", "version")}
	case kind == "GitRepository":
		s := gitSource(from)
		s.Path, s.Explicit = inRepository(chart), []string{source.KindHelm}
		return s
	}
	return source.Source{Err: source.NotFollowed{Text: fmt.Sprintf("its chart is not followed: it is in %s %q", kind, name), Hint: "a GitRepository, HelmRepository or OCIRepository is"}}
}

// releaseValues returns the values of a HelmRelease, the later win: first from ConfigMaps, then its
// own.
func (l Linker) releaseValues(o *object.Object, spec manifest.Tree) ([]string, error) {
	var out []string
	from, _ := spec["valuesFrom"].([]any)
	for _, f := range from {
		kind, name, key := manifest.Text(f, "kind"), manifest.Text(f, "name"), cmp.Or(manifest.Text(f, "valuesKey"), "values.yaml")
		x := l.refers(o, kind, o.Namespace(), name)
		switch {
		case x == nil || kind != "ConfigMap":
			return nil, source.NotFollowed{Text: fmt.Sprintf("its values may come from %s %q, which is not known here", kind, name), Hint: besideIt}
		case manifest.Text(f, "targetPath") != "":
			return nil, source.NotFollowed{Text: fmt.Sprintf("its value %s comes from %s %q, which is not followed", manifest.Text(f, "targetPath"), kind, name)}
		}
		if v, ok := manifest.At(x.Tree, "data", key).(string); ok {
			out = append(out, v)
		} else if optional, _ := manifest.At(f, "optional").(bool); !optional {
			return nil, fmt.Errorf("%s %q has no key %s, where its values are to be", kind, name, key)
		}
	}
	if own, _ := spec["values"].(manifest.Tree); len(own) > 0 {
		out = append(out, string(manifest.Canonical(own)))
	}
	return out, nil
}

// shortened returns the name that helm-controller gives a release (v1.6.4,
// internal/fleet/release/name.go).
func shortened(name string) string {
	const most, digest = 53, 12
	if len(name) <= most {
		return name
	}
	return name[:most-digest-1] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:digest]
}
