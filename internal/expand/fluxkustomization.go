package expand

import (
	"cmp"
	"fmt"
	"maps"
)

// besideIt says where the objects are looked for that Flux's name.
const besideIt = "what comes with it is found, or with what makes it"

// fluxKustomization is the folder that a Kustomization of Flux applies; false is that of an artifact of the service's, which is
// followed itself.
func (h *Hub) fluxKustomization(o *Object) (s source, applies bool) {
	spec, _ := o.Tree["spec"].(Tree)
	kind, name := text(spec, "sourceRef", "kind"), text(spec, "sourceRef", "name")
	from := h.refers(o, kind, cmp.Or(text(spec, "sourceRef", "namespace"), o.namespace()), name)
	notFollowed := func(why, hint string) (source, bool) {
		return source{err: NotFollowed{Text: "what it applies is not followed: " + why, Hint: hint}}, true
	}
	switch {
	case from == nil:
		return notFollowed(fmt.Sprintf("nothing that is makes %s %q", kind, name), besideIt)
	case fluxOwner(from) != nil:
		return source{}, false
	case kind != "GitRepository":
		return notFollowed(fmt.Sprintf("it is in %s %q", kind, name), "a GitRepository is")
	case At(from.Tree, "spec", "include") != nil, At(from.Tree, "spec", "sparseCheckout") != nil:
		return notFollowed(fmt.Sprintf("GitRepository %q has spec.include or spec.sparseCheckout", name), "")
	}
	s = gitSource(from)
	s.path, s.explicit = inRepository(text(spec, "path")), []string{kindKustomize}
	s.flux = &Flux{Spec: buildSpec(spec), Ignore: text(from.Tree, "spec", "ignore")}
	s.flux.Variables, s.flux.Unknown = h.variables(o)
	return s, true
}

// buildSpec is a Kustomization's spec without what is not built: when, and with whose rights.
func buildSpec(spec Tree) Tree {
	out := Tree{}
	for _, key := range []string{
		"targetNamespace", "namePrefix", "nameSuffix", "patches", "images", "components", "ignoreMissingComponents", "buildMetadata", "commonMetadata", "decryption", "postBuild", "ignore",
	} {
		if v := spec[key]; v != nil {
			out[key] = v
		}
	}
	return out
}

// variables are those of a Kustomization's spec.postBuild.substituteFrom, of which the later win; and what may have others, as nobody
// here makes it: then those before it are not known either.
func (h *Hub) variables(o *Object) (known map[string]string, unknown string) {
	from, _ := At(o.Tree, "spec", "postBuild", "substituteFrom").([]any)
	known = map[string]string{}
	for _, f := range from {
		x := h.refers(o, text(f, "kind"), o.namespace(), text(f, "name"))
		if x == nil || x.Kind() != "ConfigMap" {
			clear(known)
			unknown = fmt.Sprintf("%s %q", text(f, "kind"), text(f, "name"))
			continue
		}
		maps.Copy(known, texts(At(x.Tree, "data")))
	}
	return known, unknown
}

// texts are the texts of a map.
func texts(v any) map[string]string {
	m, _ := v.(Tree)
	out := make(map[string]string, len(m))
	for key, value := range m {
		if s, ok := value.(string); ok {
			out[key] = s
		}
	}
	return out
}
