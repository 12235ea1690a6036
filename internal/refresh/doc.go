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
//  3. The first state may have errors of single members: requests that concern them are refused one by one. From then
//     on a candidate is refused when it brings an error for this hub that the serving state does not have; errors are
//     compared without their lines and columns, so that an old one that moved is not a new one. A commit that mends
//     some of the errors is taken; one that empties the folders of a group that still has releases is refused too.
//  4. Snapshot and facts are judged together first, and apart if that fails, so that a bad commit does not hold up
//     facts, and bad facts do not hold up a commit: a change of facts is built on the last accepted snapshot. Facts
//     that break a cluster are refused for that cluster alone, which keeps its last accepted ones; Applications are
//     taken as they are.
//  5. A source or facts that cannot be read change nothing in the State (G4); Status says so.
//  6. All that happens while the worker is busy is one more turn of it.
//  7. Texts of Status are deterministic: they become conditions of ApplicationSets (G5). Times are fields of their own,
//     and begin when the same refusal was first seen.
//  8. With a state file, a restart judges the source's newest by what was accepted before it, and serves that if the
//     newest is refused or cannot be read (G4). It is not served before the source has been looked at.
//
// It knows nothing of HTTP and nothing of Kubernetes clients.
package refresh
