// Package adopt hands the Applications of a plain ApplicationSet over to a fleet's ApplicationSets,
// and back, without a change of any deployed object.
//
//	record, refusals := adopt.Prepare(proposal) // ApplicationSet "shop": 12 Applications
//	run := adopt.Run{Cluster: live, Record: record, Timeout: 5 * time.Minute, Poll: time.Second}
//	err := run.Do(ctx) // observe, act, wait; a killed run is resumed by the next one
//
// Callers may rely on:
//
//   - The state is the cluster and the Record: a ConfigMap with both sides' manifests. Next is a
//     pure function of the two. Each write names the version that it was decided on; after a
//     conflict, Run observes again.
//   - No workload is deleted. An ApplicationSet is deleted only with two finalizers. Argo CD's
//     controller removes its own when it sees the deletion. Argosy's finalizer keeps the
//     ApplicationSet until it owns no Application: then neither Argo CD nor the garbage collector
//     deletes one.
//   - No Application is deleted, or without an owner, with a finalizer that deletes workloads or
//     runs hooks.
//   - While an Application has no owner, its automated sync is off. The spec of the new owner is
//     written first. Argo CD must find the same objects with it, and no difference where the name
//     stays. Only then the new owner gets the Application, and the automated sync.
//   - Of two Applications for the same objects, at most one syncs by itself. The old one is deleted
//     when the new one is synced.
//   - A new ApplicationSet is created first, with a selector that matches nothing, which shows that
//     its generator works. The selector then names the Applications that are handed over, and is
//     removed with the last of them.
//   - Undo is the same sequence with the sides exchanged, from any state.
//
// The ApplicationSet controller takes over an Application of the name that it generates if that has
// no owner, and fails if it has another one. Source: argo-cd 2.14.21 and 3.5.7,
// applicationset/controllers/applicationset_controller.go, createOrUpdateInCluster, and
// SetControllerReference of controller-runtime.
package adopt
