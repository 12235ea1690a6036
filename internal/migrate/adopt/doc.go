// Package adopt hands the Applications of a plain ApplicationSet over to a fleet's, and back,
// without a change of any deployed object.
//
//	equal Applications + live objects -> Prepare -> Record
//	Next(Record, Observed) -> Step;  Run: observe, act, wait
//
// Its rules:
//
//  1. The state is what the cluster says, and the Record: a ConfigMap with both sides' manifests.
//     Next is a pure function of the two, so that a killed run is resumed by the next one.
//  2. Each write names the version that it was decided on. A conflict means: observe again.
//  3. An ApplicationSet is deleted only with two finalizers on it. Argo CD's controller removes its
//     own one when it sees the deletion. Argosy's keeps the ApplicationSet until no Application has
//     it as an owner any more: neither Argo CD nor the garbage collector then deletes one.
//  4. No Application is deleted, or without an owner, with a finalizer that deletes workloads or
//     runs hooks.
//  5. While an Application that is handed over has no owner, its automated sync is off. The spec of
//     the new owner is written first. Argo CD has to find the same objects with it, and no
//     difference where the name stays. Only then the new owner gets the Application, and with it
//     the automated sync.
//  6. Of two Applications for the same objects, one at most syncs by itself. The old one is deleted
//     when the new one is synced.
//  7. A new ApplicationSet is created before anything else, with a selector that matches nothing.
//     It shows that its generator answers. The selector then names the Applications that are handed
//     over, and is removed with the last of them.
//  8. Undo is the same sequence with the sides exchanged, from whatever state.
//
// The ApplicationSet controller takes over an Application of the name that it generates if that has
// no owner, and fails if it has another one. Source: argo-cd 2.14.21 and 3.5.7,
// applicationset/controllers/applicationset_controller.go, createOrUpdateInCluster, and
// SetControllerReference of controller-runtime.
package adopt
