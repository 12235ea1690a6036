package adopt

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

const (
	apiVersion = "argoproj.io/v1alpha1"
	// finalizer keeps a deleted ApplicationSet until it owns nothing.
	finalizer = "argosy.dev/adopt"
	// argoFinalizer is Argo CD's. On an ApplicationSet, its controller removes it at the deletion,
	// and does nothing else for it.
	//
	// Source: argo-cd 2.14.21, 3.2.11 and 3.5.7, applicationset_controller.go, Reconcile.
	argoFinalizer = "resources-finalizer.argocd.argoproj.io"
	// markAnnotation is on Applications that were written, with the digest of their spec, and on
	// ApplicationSets whose selector names the Applications that are handed over.
	markAnnotation = "argosy.dev/adopt"
	// staging is the annotation's value on ApplicationSets.
	staging = "in-progress"
	// parameter is the parameter that the selector compares with names.
	parameter = "applicationName"
	synced    = "Synced"
)

// nothing is in each selector: a list of names must not be empty, and no Application has this name.
const nothing = "-"

func same(a, b any) bool { return bytes.Equal(manifest.Canonical(a), manifest.Canonical(b)) }

func sortedValues(all map[string]Tree) []Tree {
	out := make([]Tree, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

func uidOf(t Tree) string { return manifest.Text(t, "metadata", "uid") }

func isDeleting(t Tree) bool { return manifest.Text(t, "metadata", "deletionTimestamp") != "" }

func references(t Tree) []any {
	list, _ := manifest.At(t, "metadata", "ownerReferences").([]any)
	return list
}

// controller returns the reference to an object's controller.
func controller(t Tree) Tree {
	for _, r := range references(t) {
		if is, _ := manifest.At(r, "controller").(bool); is {
			reference, _ := r.(Tree)
			return reference
		}
	}
	return nil
}

// ownerOf returns the UID of an object's controller; empty for none.
func ownerOf(t Tree) string { return manifest.Text(controller(t), "uid") }

func ownerName(t Tree) string {
	c := controller(t)
	return manifest.Text(c, "kind") + " " + manifest.Text(c, "name")
}

// IsOwner reports whether an ApplicationSet made an Application.
func IsOwner(set, app Tree) bool { return ownerOf(app) == uidOf(set) }

// owns reports whether an object is among the owners of another one.
func owns(uid string, t Tree) bool {
	return slices.ContainsFunc(references(t), func(r any) bool { return manifest.Text(r, "uid") == uid })
}

func finalizers(t Tree) []string {
	return manifest.Strings(manifest.At(t, "metadata", "finalizers"))
}

func without(all []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == one })
}

// cascading returns the finalizers by which Argo CD deletes workloads with their Application.
func cascading(app Tree) []string {
	return slices.DeleteFunc(finalizers(app), func(f string) bool {
		return !strings.HasPrefix(f, "resources-finalizer.argocd.argoproj.io") && !strings.HasPrefix(f, "foreground-finalizer.argocd.argoproj.io") && !strings.HasPrefix(f, "background-finalizer.argocd.argoproj.io")
	})
}

// harmless returns the finalizers that delete nothing and run no hooks.
func harmless(app Tree) []string {
	return slices.DeleteFunc(finalizers(app), func(f string) bool { return strings.Contains(f, "argocd.argoproj.io") })
}

func withFinalizers(t Tree, all []string) Tree {
	out, metadata := manifest.Copy(t), manifest.Copy(t["metadata"])
	delete(metadata, "finalizers")
	if len(all) > 0 {
		list := make([]any, len(all))
		for i, f := range all {
			list[i] = f
		}
		metadata["finalizers"] = list
	}
	out["metadata"] = metadata
	return out
}

func withAnnotation(t Tree, key, value string) Tree {
	out, metadata := manifest.Copy(t), manifest.Copy(t["metadata"])
	annotations := manifest.Copy(metadata["annotations"])
	annotations[key] = value
	metadata["annotations"], out["metadata"] = annotations, metadata
	return out
}

// withoutAutomated returns a spec whose Application does not sync by itself.
func withoutAutomated(spec Tree) Tree {
	if manifest.At(spec, "syncPolicy", "automated") == nil {
		return spec
	}
	out, policy := manifest.Copy(spec), manifest.Copy(spec["syncPolicy"])
	delete(policy, "automated")
	delete(out, "syncPolicy")
	if len(policy) > 0 {
		out["syncPolicy"] = policy
	}
	return out
}

// paused returns an Application without owner, without automated sync, and without finalizers of
// Argo CD.
func paused(app Tree) Tree {
	out := withFinalizers(app, harmless(app))
	metadata, _ := out["metadata"].(Tree)
	if kept := slices.DeleteFunc(slices.Clone(references(app)), func(r any) bool { return manifest.Text(r, "kind") == kindApplicationSet }); len(kept) > 0 {
		metadata["ownerReferences"] = kept
	} else {
		delete(metadata, "ownerReferences")
	}
	spec, _ := app["spec"].(Tree)
	out["spec"] = withoutAutomated(spec)
	return out
}

// isBusy reports whether an Application has an operation.
func isBusy(app Tree) bool {
	phase := manifest.Text(app, "status", "operationState", "phase")
	return app["operation"] != nil || phase == "Running" || phase == "Terminating"
}

// isCompared reports whether Argo CD has compared an Application as it is now.
func isCompared(app Tree) bool {
	compared := manifest.At(app, "status", "sync", "comparedTo")
	switch status := manifest.Text(app, "status", "sync", "status"); {
	case app == nil || compared == nil || status == "" || status == "Unknown":
		return false
	case manifest.At(app, "spec", "sources") != nil:
		return same(manifest.At(compared, "sources"), manifest.At(app, "spec", "sources"))
	}
	return same(manifest.At(compared, "source"), manifest.At(app, "spec", "source"))
}

// objectsOf returns the objects that an Application has, and the objects that it would prune.
func objectsOf(app Tree) (objects, pruned []string) {
	list, _ := manifest.At(app, "status", "resources").([]any)
	for _, item := range list {
		if hook, _ := manifest.At(item, "hook").(bool); hook {
			continue
		}
		name := objectName(item)
		if prune, _ := manifest.At(item, "requiresPruning").(bool); prune {
			pruned = append(pruned, name)
		} else {
			objects = append(objects, name)
		}
	}
	slices.Sort(objects)
	return objects, pruned
}

func objectName(item any) string {
	kind := manifest.Text(item, "kind")
	if group := manifest.Text(item, "group"); group != "" {
		kind += "." + group
	}
	if ns := manifest.Text(item, "namespace"); ns != "" {
		return kind + " " + ns + "/" + manifest.Text(item, "name")
	}
	return kind + " " + manifest.Text(item, "name")
}

// outOfSync returns the objects that differ.
func outOfSync(app Tree) (out []string) {
	list, _ := manifest.At(app, "status", "resources").([]any)
	for _, item := range list {
		if manifest.Text(item, "status") == "OutOfSync" {
			out = append(out, objectName(item))
		}
	}
	return out
}

// problems returns an Application's error conditions, after a colon.
func problems(app Tree) string {
	list, _ := manifest.At(app, "status", "conditions").([]any)
	for _, c := range list {
		if kind := manifest.Text(c, "type"); strings.HasSuffix(kind, "Error") {
			return ": " + manifest.Text(c, "message")
		}
	}
	return ""
}

// condition returns the status of an ApplicationSet's condition.
func condition(set Tree, kind string) string {
	list, _ := manifest.At(set, "status", "conditions").([]any)
	for _, c := range list {
		if manifest.Text(c, "type") == kind {
			return manifest.Text(c, "status")
		}
	}
	return ""
}

// because returns an ApplicationSet's error, after a colon.
func because(set Tree) string {
	list, _ := manifest.At(set, "status", "conditions").([]any)
	for _, c := range list {
		if manifest.Text(c, "type") == "ErrorOccurred" && manifest.Text(c, "status") == "True" {
			return ": " + manifest.Text(c, "message")
		}
	}
	return ""
}
