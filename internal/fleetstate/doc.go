// Package fleetstate resolves the fleet of one snapshot with facts into an immutable State.
//
//	Build(previous, snapshot, facts) -> State       once per change; costs what changed
//	Restore(snapshot, facts, LastKnownGood) -> State the same State after a restart
//	State.Cluster(hub, name) -> Cluster -> Group    labels, folders, catalogs, release
//	Resolver.Resolve(cluster, group, name)          one Component: its merged entry and values
//
// It knows neither queries nor responses, neither HTTP nor Kubernetes nor Git, and does no I/O.
//
// Its rules:
//
//  1. A State depends on the snapshot, the facts, the last known good snapshots and the held
//     tenants alone (G6).
//  2. Path templates and the templates of fleet/fleet-secret see the live labels, the member file's
//     and the reserved ones. All other templates see the full result of labels.Compute, as
//     fleet/fleet-secret itself declares labels.
//  3. A component's values are, least specific first: the catalog entry's `values` (the query's
//     base or the layout's catalog, then application-sets/<group>.yaml level by level), then the
//     value files level by level (H1).
//  4. Merged trees are remembered by the identity of their layers, which clusters share, and
//     outlive a State. A State reuses the clusters of the previous one that depend on nothing that
//     changed.
//  5. A member with any error is served as a whole from its last known good snapshot (G2), with the
//     facts of now, and each of its sets has a `hold`. An error in the hub's own member file
//     is one of all its members. Without such a snapshot, a member without Applications is left
//     out; otherwise there is no response. Of a release, what the State's own snapshot says wins. A
//     component that a query's entry alone enables is served so by itself.
//  6. A member file that moves from one hub's folder to another's between two States has moved
//     (D2).
//  7. A draining member is served from the last snapshot before it drained, or the first one with
//     it. It takes all changes when it is active again, or retired.
//  8. Hold serves members of a tenant from their last known good snapshots, as rule 5 does, because
//     the guard refuses what the snapshot removes of them (G11), or too many such snapshots are
//     kept for the tenant (W2). Each Build decides anew.
package fleetstate
