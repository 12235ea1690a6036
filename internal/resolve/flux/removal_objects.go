package flux

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/registration"
)

// removals adds the objects that are marked for removal to an artifact's parts. An object that
// another part has is not marked: the component runs as the other kind, or its name is another's.
func (r *renderer) removals(parts []part) []part {
	type id struct{ kind, name any }
	files, taken := map[string]bool{}, map[id]bool{}
	add := func(file string, objects []object) {
		files[file] = true
		for _, x := range objects {
			taken[id{x["kind"], nameOf(x)}] = true
		}
	}
	for _, p := range parts {
		add(p.file, p.objects)
	}
	remove := func(c paramset.ComponentSet, folder string, own bool) {
		objects := slices.DeleteFunc(r.removalObjects(c, own), func(x object) bool { return taken[id{x["kind"], nameOf(x)}] })
		if len(objects) == 0 {
			return
		}
		file := folder + c.ApplicationName + ".yaml"
		if files[file] {
			file = "departing/" + c.ApplicationName + ".yaml"
		}
		add(file, objects)
		parts = append(parts, part{file, nil, objects})
	}
	for _, c := range r.owned.Removals {
		remove(c, "components/", r.isOnOwn(c))
	}
	for _, c := range r.owned.RegistrationRemovals {
		remove(c, "registrations/", true)
	}
	return parts
}

// removalObjects returns the objects of a component to remove, as they were except for three
// things. They may be pruned, they carry the deletion as an annotation, and with the deletion
// orphan they are suspended. Then helm-controller neither deploys a HelmRelease nor uninstalls it
// when it is deleted (v1.6.4, helmrelease_controller.go, reconcileDelete), and kustomize-controller
// keeps a Kustomization's objects (v1.9.5, kustomization_controller.go,
// finalizerShouldDeleteResources). Namespaces and HelmRepositories, which other components may
// need, are not among them and stay. The result is nil where Flux cannot express the component: it
// stays as well, and blocks nothing else.
func (r *renderer) removalObjects(c paramset.ComponentSet, own bool) []object {
	alone := renderer{owned: r.owned, info: r.info, shared: map[string]object{}, users: map[string][]paramset.ComponentSet{}}
	objects := alone.component(c, own)
	if len(problem.Errors(alone.problems)) > 0 {
		return nil
	}
	release := objects[len(objects)-1]
	spec, _ := release["spec"].(object)
	if c.Deletion == fleet.Cascade && c.Kind == catalog.KindManifests {
		spec["deletionPolicy"] = "WaitForTermination" // until all is deleted, the source and the access are needed
	}
	if c.Deletion == fleet.Orphan {
		for _, x := range slices.Clone(objects) {
			if x["kind"] != "HelmRelease" && x["kind"] != release["kind"] {
				continue
			}
			spec, _ := x["spec"].(object)
			spec["suspend"] = true
			if template, ok := spec["chart"].(object); ok {
				name, _ := nameOf(x).(string)
				objects = append(objects, r.helmChart(c, name, template["spec"]))
			}
		}
	}
	for _, x := range objects {
		metadata, _ := x["metadata"].(object)
		annotations, _ := metadata["annotations"].(object)
		delete(annotations, annotationPrune)
		annotations[facts.DeletionAnnotation] = c.Deletion
	}
	if _, err := write(objects); err != nil {
		return nil
	}
	return objects
}

func nameOf(x object) any {
	metadata, _ := x["metadata"].(object)
	return metadata["name"]
}

// helmChart returns the HelmChart that helm-controller makes of a HelmRelease
// (helmchart_template.go, buildHelmChartFromTemplate), and does not delete with it while it is
// suspended. Once applied, the Kustomization prunes it.
func (r *renderer) helmChart(c paramset.ComponentSet, release string, spec any) object {
	return object{
		"apiVersion": sourceAPI, "kind": "HelmChart", "metadata": r.metadata(registration.FluxNamespace+"-"+release, c), "spec": spec,
	}
}
