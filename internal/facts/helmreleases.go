package facts

// What a HelmRelease says of itself, beside the labels that an Application has too. Written by internal/flux, read by
// internal/hub.
const (
	// HubLabel and OwnerLabel say whose artifact it has come with.
	HubLabel   = "argosy.dev/hub"
	OwnerLabel = "argosy.dev/owner"
	// DeletionAnnotation says that it is to go, and what becomes of what runs: "cascade" or "orphan".
	DeletionAnnotation = "argosy.dev/deletion"
	// PruneAnnotation with PruneDisabled keeps kustomize-controller from deleting an object (v1.9.5,
	// kustomization_controller.go, deleteObjects).
	PruneAnnotation = "kustomize.toolkit.fluxcd.io/prune"
	PruneDisabled   = "disabled"
)

// Kustomization is the Application.Kind of one of Flux's Kustomizations, which are among the HelmReleases of a Set: Flux has
// them for components that are manifests.
const Kustomization = "Kustomization"

// OwnerOf is Application.Owner: a hub, and whose engine of it, "hub" or a member's name.
func OwnerOf(hub, owner string) string { return hub + "/" + owner }

// WithHelmReleases is the set with all HelmReleases that Flux has, on the cluster of the engine that asks; there may be
// none, which is not the same as knowing of none.
func (s Set) WithHelmReleases(releases ...Application) Set {
	s.helmReleases = newApplications(releases)
	return s
}

// HelmReleases are all HelmReleases, sorted by cluster, then name, and whether they are known at all. They must not be
// changed.
func (s Set) HelmReleases() (releases []Application, known bool) {
	if s.helmReleases == nil {
		return nil, false
	}
	return s.helmReleases.sorted, true
}
