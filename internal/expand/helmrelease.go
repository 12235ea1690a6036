package expand

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
)

// helmRelease is the chart of a HelmRelease, and what it is given.
func (h *Hub) helmRelease(o *Object) source {
	spec, _ := o.Tree["spec"].(Tree)
	s := h.releasedChart(o, spec)
	if s.err == nil {
		s.values, s.err = h.releaseValues(o, spec)
	}
	for _, key := range []string{"postRenderers", "commonMetadata"} {
		if s.err == nil && At(spec, key) != nil {
			s.err = NotFollowed{Text: fmt.Sprintf("what the chart makes is changed by spec.%s, which is not followed", key)}
		}
	}
	if s.err == nil && At(spec, "chart", "spec", "valuesFiles") != nil {
		s.err = NotFollowed{Text: "spec.chart.spec.valuesFiles is not followed"}
	}
	namespace := text(spec, "targetNamespace")
	name := o.Name()
	if namespace != "" {
		name = namespace + "-" + name
	}
	s.helm = Tree{"releaseName": cmp.Or(text(spec, "releaseName"), shortened(name)), "namespace": cmp.Or(namespace, o.namespace())}
	if text(spec, "install", "crds") == "Skip" {
		s.helm["skipCrds"] = true
	}
	return s
}

// releasedChart is where a HelmRelease's chart is.
func (h *Hub) releasedChart(o *Object, spec Tree) source {
	ref, _ := At(spec, "chartRef").(Tree)
	if ref == nil {
		ref, _ = At(spec, "chart", "spec", "sourceRef").(Tree)
	}
	kind, name, chart := text(ref, "kind"), text(ref, "name"), text(spec, "chart", "spec", "chart")
	from := h.refers(o, kind, cmp.Or(text(ref, "namespace"), o.namespace()), name)
	switch {
	case from == nil && kind != "GitRepository" && !h.Renders():
		return source{} // nobody asks
	case from == nil:
		return source{err: NotFollowed{Text: fmt.Sprintf("its chart is not followed: nothing that is makes %s %q", kind, name), Hint: besideIt}}
	case kind == "OCIRepository":
		url, name := path.Split(strings.TrimPrefix(text(from.Tree, "spec", "url"), "oci://"))
		// Helm's way: a tag has no plus sign.
		return source{repoURL: strings.TrimSuffix(url, "/"), chart: name, revision: strings.ReplaceAll(reference(from.Tree), "_", "+")}
	case kind == "HelmRepository":
		return source{repoURL: text(from.Tree, "spec", "url"), chart: chart, revision: text(spec, "chart", "spec", "version")}
	case kind == "GitRepository":
		s := gitSource(from)
		s.path, s.explicit = inRepository(chart), []string{kindHelm}
		return s
	}
	return source{err: NotFollowed{Text: fmt.Sprintf("its chart is not followed: it is in %s %q", kind, name), Hint: "a GitRepository, HelmRepository or OCIRepository is"}}
}

// releaseValues are a HelmRelease's values, the later win: those of ConfigMaps, and its own.
func (h *Hub) releaseValues(o *Object, spec Tree) ([]string, error) {
	var out []string
	from, _ := spec["valuesFrom"].([]any)
	for _, f := range from {
		kind, name, key := text(f, "kind"), text(f, "name"), cmp.Or(text(f, "valuesKey"), "values.yaml")
		x := h.refers(o, kind, o.namespace(), name)
		switch {
		case x == nil || kind != "ConfigMap":
			return nil, NotFollowed{Text: fmt.Sprintf("its values may come from %s %q, which is not known here", kind, name), Hint: besideIt}
		case text(f, "targetPath") != "":
			return nil, NotFollowed{Text: fmt.Sprintf("its value %s comes from %s %q, which is not followed", text(f, "targetPath"), kind, name)}
		}
		if v, ok := At(x.Tree, "data", key).(string); ok {
			out = append(out, v)
		} else if optional, _ := At(f, "optional").(bool); !optional {
			return nil, fmt.Errorf("%s %q has no key %s, where its values are to be", kind, name, key)
		}
	}
	if own, _ := spec["values"].(Tree); len(own) > 0 {
		out = append(out, string(canonical(own)))
	}
	return out, nil
}

// shortened is a release's name as helm-controller makes it (v1.6.4, internal/release/name.go).
func shortened(name string) string {
	const most, digest = 53, 12
	if len(name) <= most {
		return name
	}
	return name[:most-digest-1] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:digest]
}
