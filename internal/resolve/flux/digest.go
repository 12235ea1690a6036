package flux

import (
	"encoding/json"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// Object is a HelmRelease or Kustomization of an artifact.
type Object struct {
	// Item is the subject of the object, with the object's name: a component has an object for each
	// companion, too.
	Item lifecycle.Item
	// Kind is facts.Kustomization, or empty for a HelmRelease.
	Kind string
	// Digest covers everything that decides what the object deploys.
	Digest string
}

// sealed writes the digest of a component's objects on the HelmRelease or Kustomization among them.
// It writes a source's own digest on a source of the same name. The digest covers variables, too.
func sealed(objects []object, c paramset.ComponentSet, variables ...any) []object {
	parts := slices.Clone(variables)
	last := annotationsOf(objects[len(objects)-1])
	for _, x := range objects {
		if nameOf(x) != c.ApplicationName { // a companion's
			continue
		}
		if x["kind"] == "GitRepository" || x["kind"] == "OCIRepository" {
			last[facts.SourceAnnotation] = seal(annotationsOf(x), x["spec"])
		}
		parts = append(parts, x["kind"], x["spec"], x["data"])
	}
	seal(last, parts)
	return objects
}

// seal writes the digest of a content as annotations, and returns it.
func seal(annotations object, content any) string {
	text, _ := json.Marshal(content) // only maps, lists and scalars
	sum := digest(string(text))
	annotations[facts.DigestAnnotation], annotations[facts.RequestedAnnotation] = sum, sum
	return sum
}

func annotationsOf(x object) object {
	metadata, _ := x["metadata"].(object)
	annotations, _ := metadata["annotations"].(object)
	return annotations
}

// deployedBy returns the HelmReleases and Kustomizations among a component's objects.
func deployedBy(c paramset.ComponentSet, objects []object) []Object {
	var out []Object
	for _, x := range objects {
		kind := ""
		switch x["kind"] {
		case "HelmRelease":
		case facts.Kustomization:
			kind = facts.Kustomization
		default:
			continue
		}
		item := itemOf(c)
		item.Name, _ = nameOf(x).(string)
		sum, _ := annotationsOf(x)[facts.DigestAnnotation].(string)
		out = append(out, Object{item, kind, sum})
	}
	return out
}

// objectsOf returns the objects of an artifact's files.
func objectsOf(files []File) []Object {
	var out []Object
	for _, f := range files {
		out = append(out, f.deployed...)
	}
	return out
}
