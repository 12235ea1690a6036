// Package guard refuses responses that would remove more than the removal budget allows (G3).
//
//	Guard.Response(state, query) -> the state's response, or a *Refusal
//	DryRun(before, after)        -> what it would decide, for plans
//
// It counts the members that would lose something: by a response, compared with what its requester
// has, and by a commit as a whole. lifecycle.Diff finds what is lost, and why. The guard knows
// neither HTTP nor Kubernetes. Its rules:
//
//  1. Where the facts know the Applications, the baseline is those that the ApplicationSet
//     controls: exactly what Argo CD deletes if they are left out. That takes no memory, and
//     replicas agree.
//  2. Where the facts know no Applications, or none of the requester's, the baseline is the last
//     response to the same query, from memory and a store. The first response to a query is
//     compared with nothing.
//  3. What a response leaves out, or contains only for its deletion (cascade), is a removal. What
//     moves is none (D4). A member file approves its own retirement, if no other member retires in
//     the commit (retirement.go), and an approval of the repository that counts approves what it
//     names. All else counts, by members: a member that loses several components in one response
//     counts once.
//  4. A state is judged as a whole for the hub: how many of its members lose something without
//     approval, by all views, groups, releases and engines together, compared with what the last
//     accepted state gave them. Beyond the budget, no response is given that loses anything without
//     approval; the others are. The same counts for the members of each tenant. What the state may
//     not remove stays in the baseline of the next one. An earlier state that is asked for late
//     changes no baseline. (commit.go)
//  5. Independent of the number, a removal needs an approval when a file that switched something on
//     for several members is gone or empty, or the layout finds other files; and the hub's own
//     engine and secrets operator need one that names them. Each response is within the budget,
//     too: of the members in its baseline.
//  6. A refusal has the same text for the same cause (G5): it names no revision, which would change
//     with each commit and sooner or later name an innocent one. The log and Refusals list what
//     would be lost, why, and since which revision.
//  7. The ApplicationSets of a release outlive it, but where they are pruned their Applications go
//     too. So a release that is left out counts for the members that still have Applications of it.
//  8. A response that is given is that of the judged state, byte for byte. A verdict is found once
//     for a state and a query, and cached with the response until a replica gives another one. An
//     ApplicationSet with several queries is judged by all of their responses.
//  9. A damaged record of the store is reported and left unread: the next responses are compared
//     with nothing. The newest response to a query counts, whichever replica gave it; before the
//     store has been read there is no response. Responses are written soon, to a shared store
//     within about a second: after a crash, the one before the last may be the baseline.
//  10. The clock is the guard's: states and responses know no time.
//  11. A moved parameter set stays in the old response until the new owner can answer for it: the
//     response without it is refused. ApplicationSets name the new owner's queries, else the
//     remembered ones do. Where all ApplicationSets are known, one of them has to ask for what
//     moves. What an approval names does not wait. A cluster whose file has moved to another hub
//     has moved as well; that hub's responses are not known here.
//  12. Removals without approval count for the next states during the layout's window, if it has
//     one, unless they are there again: else each commit would have the whole budget anew.
//  13. A tenant whose removals are refused is held: its members are served from their last known
//     good snapshots, and all others go on. (held_tenant.go)
//  14. A commit is judged by the stricter of its own budget and window and those before. A refused
//     loss needs an approval, or a commit that wants it again, whatever later commits allow. An
//     approval by a pattern of members counts from the next commit on. (terms.go)
package guard
