// Package guard refuses responses that would remove more than the removal budget allows (G3).
//
//	Guard.Response(state, query) -> the state's response, or a *Refusal
//	DryRun(before, after)        -> what it would decide, for plans
//
// It compares each response with what the requester has, and counts the members that would lose
// something. It knows neither HTTP nor Kubernetes. Its rules:
//
//  1. Where the facts know the Applications, the baseline is those that the ApplicationSet
//     controls: exactly what Argo CD deletes if they are left out. That takes no memory, and
//     replicas agree.
//  2. Where the facts know no Applications, or none of the requester's, the baseline is the last
//     response to the same query, from memory and a store. The first response to a query is
//     compared with nothing.
//  3. What a response leaves out, or contains only for its deletion (cascade), is a removal. What
//     moves is none (D4). A member file approves its own retirement, and an approval of the
//     repository that has not expired approves what it names. All else counts, by members: a member
//     that loses several components in one response counts once.
//  4. The budget is the layout's, of the members in the baseline of the response (fleet.Budget).
//  5. Many ApplicationSets have few members, each of which may go alone. So the guard counts the
//     members whose files are gone for the whole hub as well. Beyond the budget there, it refuses
//     each response that loses one of them.
//  6. A refusal has the same text for the same cause (G5): it names no revision, which would change
//     with each commit and sooner or later name an innocent one. The log and Refusals list what
//     would be lost, why, and since which revision.
//  7. The ApplicationSets of a release outlive it, but where they are pruned their Applications go
//     too. So a release that is left out counts for the members that still have Applications of it.
//  8. A response that is given is that of the judged state, byte for byte. A verdict is found once
//     for a state and a query, and cached with the response. An ApplicationSet with several queries
//     is judged by all of their responses.
//  9. A damaged record of the store, or one of another version, is reported and left unread: the
//     next response to its query is compared with nothing. In a store that replicas share, the
//     newest response to a query counts, whoever gave it; before it has been read there is no
//     response. In a store of one process, a response is written before it is given.
//  10. The clock is the guard's: states and responses know no time.
//  11. A moved parameter set stays in the old response until the new owner can answer for it: the
//     response without it is refused. ApplicationSets name the new owner's queries, else the
//     remembered ones do. Where all ApplicationSets are known, one of them has to ask for what
//     moves. What an approval names does not wait. A cluster whose file has moved to another hub
//     has moved as well; that hub's responses are not known here.
//  12. Where the last response is the baseline, removals without approval count for the next
//     responses during the layout's window, if it has one, unless they are there again: else each
//     response would have the whole budget anew.
package guard
