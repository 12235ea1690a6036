// Package hub watches the hub's Kubernetes API: Argo CD's cluster Secrets and Applications, of which it makes facts,
// ApplicationSets, which it tells that there is a new answer, and Flux's HelmReleases.
//
//  1. Of Secrets and Applications only metadata is asked for: every request accepts nothing but PartialObjectMetadata,
//     so that a Secret's data never enters the process. Requests that are no GET never leave it. Annotations that
//     repeat an object's content (last-applied-configuration) are dropped before anything is stored.
//  2. A cluster's name is that of the Secret's annotation cluster_name, else of its label cluster_name, else the
//     Secret's own.
//  3. Facts of Secrets are sticky: a cluster whose Secret has gone keeps what was known of it for the life of the
//     process, but for the Secret's UID. An Application is never lost to a missing Secret: after a restart, internal/generator
//     refuses the answers that would lose one.
//  4. Of several Secrets for one cluster the oldest counts, then the first by name; the others are a problem.
//  5. Nothing is known until the first lists are complete (State.Synced). Later failures leave the facts as they are,
//     and are told in State.Err by a short text that is the same each time (G4, G5).
//  6. Changes are collected for a moment before they are told: a restart of the API server, or an operator that writes
//     all Secrets anew, costs one recomputation and not thousands. What changes no fact is not told at all.
//  7. The Applications that count are those labelled with a cluster (argosy.dev/cluster). They are not sticky: one that
//     has gone is gone. One that is being deleted is still there. Its controller is the ApplicationSet that its
//     ownerReferences name as such; whoever else controls it is none.
//  8. Where Applications may not be asked for, or there is no such resource, they are unknown, which is not the same as
//     none: it is told once in the log, tried again, and the facts of Secrets go on without them. Once known, Applications
//     stay known.
//  9. ApplicationSets have a client of their own, which reaches the ApplicationSets of the namespace and nothing else,
//     and changes annotations alone. Of an ApplicationSet only its name, what it asks our plugin, and whether
//     that failed are kept.
//  10. Flux's HelmReleases are watched where there is Flux (type Flux), by rules 1, 5, 6 and 8, beside and apart from what
//     Argo CD has: those labelled with the artifact that they came with (argosy.dev/hub, argosy.dev/owner).
//     Kustomizations so labelled are watched with them; where they may not be, or there is no such resource, HelmReleases
//     are all that is known.
//  11. List asks for the same once, for a file: what it asks for and cannot have is an error, and nothing is sticky.
//  12. State is kept in ConfigMaps of one namespace whose names have a prefix (StateObjects), by a client of its own that
//     reaches no others. A ConfigMap has no credentials, and neither has what is kept.
//  13. Of the grants of one member (ConfigMaps labelled argosy.dev/grant) the metadata alone is asked for, and nothing of
//     them is changed but our finalizer: it is put on each that is not being deleted, and taken off one that is when its
//     user says that the engine has nothing of its group any more. A client of its own reaches the ConfigMaps of the
//     namespace and nothing else. Where they may not be asked for, nothing is known, ever: there is no going on without.
package hub
