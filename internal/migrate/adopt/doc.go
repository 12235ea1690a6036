// Package adopt hands the Applications of a plain ApplicationSet over to a fleet's ApplicationSets,
// and back, without a change of any deployed object.
//
//	record, err := adopt.Prepare("shop", observed, argosy, names) // 12 Applications
//	err = record.Run(ctx, live, 5*time.Minute, time.Second, say) // a killed run is resumed by the next
//
// Argo CD does the rest. Its ApplicationSet controller takes over an Application of the name that
// it generates if that has no owner, and fails if it has another one. Source: argo-cd 2.14.21 and
// 3.5.7, applicationset/controllers/applicationset_controller.go, createOrUpdateInCluster, and
// SetControllerReference of controller-runtime.
//
// Callers may rely on:
//
//   - The state is the cluster and the Record, a ConfigMap. Next is a pure function of the two.
//     Each write names the version that it was decided on; after a conflict, Run observes again.
//   - No workload is deleted. An ApplicationSet is deleted only with two finalizers. Argo CD's
//     controller removes its own when it sees the deletion. Argosy's finalizer keeps the
//     ApplicationSet until it owns no Application: then the garbage collector deletes none.
//     Before, its Applications lose the finalizers that delete workloads. No Application is deleted
//     with a finalizer of Argo CD.
//   - The spec of an Application is never written. One that gets another name is skipped by Argo CD
//     until it is deleted, so that two never sync the same objects.
//   - A new ApplicationSet is created first, with a selector that matches nothing, which shows that
//     its generator works. The selector then names the Applications that are handed over, and is
//     removed with the last of them.
//   - Undo is the same sequence with the sides exchanged, from any state.
package adopt
