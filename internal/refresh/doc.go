// Package refresh keeps the newest good generator.State: what the plugin answers from.
//
//	source ──┐ newest snapshot, or why there is none
//	         ├─> one worker: build completely, compare, swap one pointer ─> State(), Status(), Changed()
//	facts ───┘ newest set, once synced
//
// Its rules:
//
//  1. There is no State before the first good snapshot and the first complete set of facts (G4). Status says what is
//     being waited for.
//  2. A new state is built completely, then swapped in one step. Readers never see half of one.
//  3. Errors of single members do not hold up the others: such a member is quarantined, and Status names it (rule 10 of
//     package generator, G2). A candidate is refused as a whole when it brings an error of the repository or of this hub
//     as a whole that the serving state does not have (errors are compared without their lines and columns, so that an
//     old one that moved is not a new one); when it empties the folders of a group that still has releases; and when a
//     member of this hub would be without an answer that it has now, which facts alone can bring about.
//  4. Snapshot and facts are judged together first, and apart if that fails, so that a bad commit does not hold up
//     facts, and bad facts do not hold up a commit: a change of facts is built on the last accepted snapshot. Facts
//     that break a cluster are refused for that cluster alone, which keeps its last accepted ones; Applications are
//     taken as they are.
//  5. A source or facts that cannot be read change nothing in the State (G4); Status says so.
//  6. All that happens while the worker is busy is one more turn of it.
//  7. Texts of Status are deterministic: they become conditions of ApplicationSets (G5). Times are fields of their own,
//     and begin when the same refusal was first seen.
//  8. With a state file, a restart judges the source's newest by what was accepted before it, and serves that if the
//     newest is refused or cannot be read (G4). It is not served before the source has been looked at. The snapshots that
//     quarantined members are computed from are kept with it, whatever the source is: a folder has no history, and a
//     branch that was forced has lost it. What is damaged is reported and not used; its members are as at a first start.
//  9. What is known of clusters is kept as well (KeptFacts): a cluster whose Secret goes while nobody looks keeps its last
//     known facts as long as its member file is there, and an API server that is away at a start is gone on without.
//  10. In a room that replicas share (Options.State) the first who comes to a snapshot says what its homes are; the others
//     take them over. Before the room has been read there is no State, as what is in it may say more.
//
// It knows nothing of HTTP and nothing of Kubernetes clients.
package refresh
