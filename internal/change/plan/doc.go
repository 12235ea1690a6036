// Package plan compares two states of a fleet: what changes for each cluster and each of its
// Applications.
//
//	Compare(base, head) -> Plan
//
// It is pure, as the resolver is.
//
//  1. It compares all parameter sets of all hubs (registrations, agents, releases, components), and
//     the labels and annotations of the clusters. Unchanged ones are counted.
//  2. A plan is complete except for the members that it lists as Broken. A broken member that has a
//     last known good snapshot keeps its Applications in the plan; any other is left out.
//  3. An Application is identified by hub, cluster, view and name. It is created, changed, moved or
//     removed. It moves when its owner, engine, group or release changes: the old response drops it
//     and the new response adds it (rule D4).
//  4. A removal has one of the reasons of rule D2 and, where possible, the place that caused it. It
//     says whether the workloads are deleted or stay.
//  5. A retired member counts as absent. Deleting its file later changes nothing.
//  6. Differences name the old and the new value, and the places that set them. Values are compared
//     leaf by leaf, and lists of the same length element by element. A list of another length is
//     one difference. The same value set elsewhere is no difference. Labels and annotations are
//     differences of the cluster; its registration and its agent change with it, and list none. A
//     release lists what changes of a catalog entry, unless an Application of the component does.
//  7. A release's catalog is the one at the revision that the release names
//     (catalog.FindReleaseCatalog). Without it, a new version of the release is one difference.
//     An Application is planned only if the catalog lists its component, because an ApplicationSet
//     asks for it only then. When a new catalog drops a component, its Application stays.
//  8. With rendered remote charts (Expand), the plan lists the first differences of each object. It
//     hides the content of Secrets, and shows of a long text the first line that differs.
//     It names what the clusters newly read and write by External Secrets, and no longer: of
//     changed, new and removed objects, by cluster, namespace, store and remote name.
//  9. A draining member keeps its parameter sets. What the head would change is listed as waiting.
//  10. Plans are deterministic: sorted by hub, cluster, then Application.
package plan
