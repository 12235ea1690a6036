// Package hub watches the Kubernetes API of a hub. It makes facts of Argo CD's cluster Secrets and
// Applications and of Flux's HelmReleases and Kustomizations. It also refreshes ApplicationSets,
// holds ownership grants, and stores state in ConfigMaps.
//
//	h, err := hub.New(hub.Options{Config: config, Namespace: "argocd"})
//	go h.Run(ctx, func() { ... }) // called after each change
//	s := h.State()                // s.Synced, s.Facts, s.Err
//
// Hub, Flux, ApplicationSets and OwnershipGrants watch a kind of objects once. List, Objects and
// HealthCheck send single requests. Callers may rely on:
//
//  1. No data of a Secret enters the process: requests for Secrets and for grants accept only
//     PartialObjectMetadata. Annotations that repeat an object's content
//     (last-applied-configuration) are dropped at once. The annotation argosy.dev/server, for
//     probes, is not part of the facts. Of Applications and Flux's objects only what type object
//     names is decoded: values of charts stay in the bytes of the response, a page of 500 objects
//     at most. Only Objects returns whole Applications, for the command line.
//  2. A cluster's name is the Secret's annotation cluster_name, else its label cluster_name, else
//     its own name. If several Secrets name one cluster, the oldest counts, then the first by name.
//     The others are a problem.
//  3. A cluster whose Secret is missing keeps its facts, without the Secret's UID, until the
//     process ends or Forget drops it. So a missing Secret removes no Application. After a restart,
//     the guard refuses responses that would lose one.
//  4. Nothing is known until the first lists are complete (State.Synced). Later failures leave the
//     facts as they are, and State.Err reports them by a short text that stays the same. While the
//     API server is silent, no health of Flux's objects and no status counts.
//  5. Changes are collected for a moment before they are reported: an operator that rewrites all
//     Secrets costs one computation, not thousands. A change that changes no fact is not reported.
//  6. Applications with the label argosy.dev/cluster count, and HelmReleases, Kustomizations and
//     sources with the labels argosy.dev/hub and argosy.dev/owner. They are removed from the facts
//     when they are gone; an object under deletion still exists. The controller of an Application
//     is the ApplicationSet that its ownerReferences name as such.
//  7. Without the permission or the resource, these objects are unknown, which does not mean that
//     there are none. The log says so once, and the request is repeated. Once known, they stay
//     known. Without the permission for ConfigMaps, no grant is ever known.
//  8. The package writes only annotations of ApplicationSets, the finalizer and the health
//     annotation of ownership grants, and its own ConfigMaps of state, which hold no credentials. A
//     grant keeps the finalizer until its user releases it: the engine has no objects of the group
//     any more.
package hub
