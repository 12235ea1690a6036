// Package plan compares two states of a fleet. It lists what changes for each cluster and each of
// its Applications, and why. It is pure, as the resolver is.
//
//	c := plan.Compare(base, head, nil).Hubs[0].Clusters[0] // prod-eu-1
//	c.Applications[0].Name                                 // dns-prod-eu-1
//	c.Applications[0].Differences[0]                       // value replicas: 2 -> 3
//
// Callers may rely on this:
//
//  1. A plan compares all parameter sets of all hubs (registrations, agents, releases, components),
//     and the labels and annotations of the clusters. It counts the unchanged ones. It is sorted by
//     hub, cluster, then Application.
//  2. A plan is complete except for the members that it lists as Broken. A broken member that has a
//     last known good snapshot keeps its Applications in the plan; any other is left out.
//  3. An Application is identified by hub, cluster, view and name. It is created, changed, moved or
//     removed. It moves when its owner, engine, group or release changes: the old response drops it
//     and the new response adds it (rule D4).
//  4. A removal has one of the reasons of rule D2 and, where possible, the place that caused it. It
//     says whether the workloads are deleted or stay.
//  5. A retired member counts as absent: deleting its file later changes nothing. A draining member
//     keeps its parameter sets, and what the head would change is listed as waiting.
//  6. Differences name the old and the new value, and the places that set them. Values are compared
//     leaf by leaf, and lists of equal length element by element. The same value from another place
//     is not a difference. Labels and annotations are differences of the cluster, not of its
//     registration or agent.
//  7. A release uses the catalog at the revision that it names (catalog.FindReleaseCatalog). If
//     that is unknown, a new version of the release is one difference. A component that the catalog
//     does not list is not planned, because no ApplicationSet queries for it.
//  8. With rendered remote charts (Expand), the plan lists the first differences of each object,
//     and hides the content of Secrets. It also lists the remote secrets that clusters newly read
//     and write by External Secrets, and the ones that they no longer do.
package plan
