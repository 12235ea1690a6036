// Package guard keeps an answer back that would remove more than the removal budget allows (G3).
//
//	Guard.Answer(state, request) -> the state's answer, or a *Refusal
//
// Its rules:
//
//  1. An answer is compared with what the asker has. Where the facts know the Applications, that is those that the asking
//     ApplicationSet controls: exactly what Argo CD deletes if they are left out. It takes no memory, and replicas agree.
//  2. Where they do not, or know none of the asker's, it is the last good answer to the same question, remembered in memory and in a folder. The first
//     answer to a question is compared with nothing.
//  3. What is left out, or answered for its removal alone (deletion cascade), is a removal. What moves is none (D4), what
//     retires is approved by its member file, and an approval of the repository that has not expired approves what it
//     names. All else counts, by members: one that loses several components in one answer counts once.
//  4. The budget is the layout's, of the members that the baseline of this answer has (fleet.Budget).
//  5. Many ApplicationSets have few members, each of which may go alone. So the members whose files are gone are counted for
//     the whole hub as well: beyond the budget there, no answer that loses one of them is given.
//  6. Beyond it there is no answer but an error, the same text for the same cause (G5): it names no revision, which would
//     change with each commit and sooner or later name an innocent one. What would be lost, why, where that stands and
//     since which revision goes to the log once, and is to be had from Refusals.
//  7. A release's ApplicationSets outlive it, but where somebody prunes them their Applications go too: a release that is
//     not answered any more counts for the members that still have Applications of it.
//  8. Answers that are given are those of the state that was judged, byte for byte. A verdict is found once for a state
//     and a question, and kept with the answer. An ApplicationSet that asks several questions is judged by all of them.
//  9. A record of the folder that is damaged, or of another version, is told and left unread: its question is answered as
//     at a first start. Replicas share the records in a room (Options.State): of each question the newest answer counts,
//     whoever gave it. Before the room has been read there is no answer.
//  10. The clock is the guard's: states and answers know no time.
//  11. What moves is let go of when whoever it moves to has an answer: until then the answer without it is refused. Who that
//     is say the ApplicationSets, else the questions that are remembered. Where all ApplicationSets are known, one of them has
//     to ask for it. What an approval names does not wait. A cluster whose file has moved to another hub has
//     moved as well; what its service answers is not known here.
//  12. Where the last answer is the baseline, what answers have lost without approval counts for the next ones during the
//     layout's window, if it has one, unless it is there again: else each has the whole budget anew.
//
// It knows neither HTTP nor Kubernetes.
package guard
