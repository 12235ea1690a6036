// Package refresh keeps the newest good fleetstate.State up to date: the one that the service
// responds from.
//
//	source ─┐ newest snapshot, or an error
//	        ├─> one worker: candidate, accept, checkpoint, publish ─> State(), Status(), Changed()
//	facts ──┘ newest set, once complete
//
// It knows neither HTTP nor Kubernetes clients. Its rules:
//
//  1. There is no State before the first good snapshot and the first complete set of facts (G4).
//     Status says what the service waits for.
//  2. A new state is built completely, then swapped in one step. Readers never see half of one.
//  3. An error of a single member does not hold up the others: the member is quarantined, and
//     Status names it (G2). A candidate is refused as a whole if it brings a new error of the
//     repository or of this hub as a whole (errors are compared without lines and columns, so that
//     an old one that moved is not new); if it empties the folders of a group that still has
//     releases; or if a member of this hub would lose its response, which facts alone can cause.
//  4. Snapshot and facts are tried together first, and apart if that fails. So a bad commit does
//     not hold up facts, and bad facts do not hold up a commit: new facts are tried on the last
//     accepted snapshot. Facts that break a cluster are refused for that cluster alone, which keeps
//     its last accepted ones. Applications are always accepted.
//  5. A source or facts that cannot be read change nothing in the State (G4); Status says so.
//  6. All that happens while the worker is busy makes one more reconciliation.
//  7. Texts of Status are deterministic: they become conditions of ApplicationSets (G5). Times are
//     fields of their own, and begin when the same refusal was first seen.
//  8. With a store, a restart compares the source's newest snapshot with the one that was accepted
//     before, and serves that one if the newest is refused or cannot be read (G4). It serves
//     nothing before the source has been polled, or has been silent for Options.Patience. The store
//     holds the last known good snapshots of members, too, as a folder has no history and a forced
//     branch has lost it. Damaged records are reported and not used; their members are as at a
//     first start. What the store does not take is written again, with growing pauses.
//  9. LastKnownFacts stores facts, too: a cluster whose Secret goes during a restart keeps its last
//     known facts while it has a member file, and an API server that is away does not stop a start.
//  10. In a store that replicas share, the first one that accepts a snapshot decides its last known
//     good snapshots; the others take them over before they publish. Before such a store has been
//     read there is no State, as the other replicas may know more.
//  11. Before a candidate is published, Options.Judge names the tenants of which it would remove
//     more than it may. Their members are held on their last known good snapshots (G11). The store
//     keeps which, and replicas agree on it as on rule 10.
//  12. A mount's commit is accepted upon a published state, and only if it brings no new error and
//     holds no tenant. Otherwise the mount stays as it is (U2), and Status says since when. It is
//     tried again upon another commit, and with other facts of clusters. The saved snapshot holds
//     the mounts' files.
//  13. What last known good snapshots take has a budget in bytes, for each tenant and in whole
//     (W2). Beyond it all members of such a tenant stay at theirs, so that no more are kept.
//     Nothing is removed because of it, and it ends when enough files are fixed.
//  14. Status says since when a candidate is being computed. Without that, a computation that does
//     not end would look like a source without changes.
package refresh
