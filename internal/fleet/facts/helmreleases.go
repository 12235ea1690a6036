package facts

// Metadata of a HelmRelease, beside the labels that an Application has too. internal/resolve/flux
// writes it, internal/hub reads it.
const (
	// HubLabel and OwnerLabel name the artifact that brought it.
	HubLabel   = "argosy.dev/hub"
	OwnerLabel = "argosy.dev/owner"
	// DeletionAnnotation marks it for deletion with its workloads ("cascade") or without
	// ("orphan").
	DeletionAnnotation = "argosy.dev/deletion"
	// PruneAnnotation with PruneDisabled keeps kustomize-controller from deleting an object
	// (v1.9.5, kustomization_controller.go, deleteObjects).
	PruneAnnotation = "kustomize.toolkit.fluxcd.io/prune"
	PruneDisabled   = "disabled"
	// RequestedAnnotation requests a reconciliation of Flux. Flux copies its value into
	// status.lastHandledReconcileAt with the outcome (fluxcd/pkg/apis/meta, annotations.go).
	RequestedAnnotation = "reconcile.fluxcd.io/requestedAt"
	// SourceAnnotation has the digest of the source that an object deploys.
	SourceAnnotation = "argosy.dev/source-digest"
)

// Kustomization is the Application.Kind of a Kustomization of Flux. Kustomizations are among the
// HelmReleases of a Set: Flux has them for components that are manifests.
const Kustomization = "Kustomization"

// OwnerOf returns the Application.Owner of a hub, and of "hub" or the name of an agent.
func OwnerOf(hub, owner string) string { return hub + "/" + owner }

// WithHelmReleases returns the set with all HelmReleases of Flux on the requesting engine's
// cluster. An empty list is not the same as unknown HelmReleases.
func (s Set) WithHelmReleases(releases ...Application) Set {
	s.helmReleases = newApplications(releases)
	return s
}

// HelmReleases returns all HelmReleases, sorted by cluster, then name, and whether they are known
// at all. They must not be changed.
func (s Set) HelmReleases() (releases []Application, known bool) {
	return s.helmReleases.all()
}

// HelmRelease returns a HelmRelease by name, or a Kustomization by that kind; false when there is
// none, or when HelmReleases are unknown.
func (s Set) HelmRelease(kind, name string) (Application, bool) {
	return s.helmReleases.find(Application{Kind: kind, Name: name})
}
