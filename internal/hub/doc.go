// Package hub watches the hub's Kubernetes API. It makes facts of Argo CD's cluster Secrets and
// Applications and of Flux's HelmReleases, triggers a refresh of ApplicationSets, holds ownership
// grants, and stores state in ConfigMaps. Its rules:
//
//  1. Requests for Secrets and Applications accept nothing but PartialObjectMetadata (but for rule
//     15), so the data of a Secret never enters the process. Annotations that repeat an object's
//     content (last-applied-configuration) are dropped before anything is stored. The annotation
//     argosy.dev/server, for probes, is no annotation of the facts: no response has it.
//  2. A cluster has the name in the Secret's annotation cluster_name, else in its label
//     cluster_name, else the Secret's own.
//  3. Facts of Secrets are sticky: a cluster whose Secret has gone keeps its facts for the life of
//     the process, without the Secret's UID. A missing Secret removes no Application: after a
//     restart, the responses that would lose one are refused.
//  4. Of several Secrets for one cluster the oldest counts, then the first by name. The others are
//     a problem.
//  5. Nothing is known until the first lists are complete (State.Synced). Later failures leave the
//     facts as they are, and State.Err reports them by a short text that stays the same (G4, G5).
//  6. Changes are collected for a moment before they are reported: a restart of the API server, or
//     an operator that rewrites all Secrets, costs one computation and not thousands. A change of
//     no fact is not reported at all.
//  7. The Applications that count have a label argosy.dev/cluster. They are not sticky. An
//     Application that is being deleted is still there. Its controller is the ApplicationSet that
//     its ownerReferences name as such.
//  8. Without the permission for Applications, or without that resource, they are unknown, which is
//     not the same as none: the log says so once, the request is repeated, and the facts of Secrets
//     are used without them. Once known, Applications stay known.
//  9. Of ApplicationSets it changes annotations alone, and stores the name, the queries to our
//     plugin, and whether they failed.
//  10. Flux watches HelmReleases where there is Flux, by rules 5, 6 and 8, apart from Argo CD's
//     objects: those labelled with the artifact that brought them (argosy.dev/hub,
//     argosy.dev/owner), and Kustomizations and sources with these labels, unless there is no
//     permission or no such resource. Of these objects, whose values are elsewhere, it stores
//     labels, annotations of ours, and whether Flux has carried out what they ask for now, which
//     does not count while the API server is silent.
//  11. List requests the same once, for a file. What it cannot get is an error, and nothing is
//     sticky.
//  12. StateObjects stores state in ConfigMaps of one namespace whose names have a prefix.
//     ConfigMaps hold no credentials, and neither does the state.
//  13. OwnershipGrants watches the ownership grants of one member (ConfigMaps labelled
//     argosy.dev/grant) by their metadata alone, and changes nothing but our finalizer and
//     what the service says of the group's health. It puts
//     that on each grant that is not being deleted, and takes it off one that is once its user
//     reports that the engine has nothing of the group any more. Without the permission no grant
//     is ever known.
//  14. Statuses watches the columns that kubectl prints of Applications, HelmReleases and
//     Kustomizations: name, version, sync and health. The API server makes them (Table, without
//     the objects), so no values enter the process. What was seen last does not count while the
//     API server is silent.
//  15. Objects lists whole Applications or ApplicationSets once, for the command line. It sends GET
//     requests for those two resources.
//  16. HealthCheck reads Argo CD's settings (argocd-cm) and nothing else, where a rollout policy
//     covers agents, and looks for the health check of ownership grants alone.
package hub
