// Package appsets makes Argo CD ask anew for those ApplicationSets whose answer has changed.
//
//	states, as they are served ──┐
//	                             ├─> compare the answers ─> what is due ─> ask Argo CD to refresh, one at a time
//	ApplicationSets, as they are ┘
//
// Its rules:
//
//  1. A state is compared when it is being served already: the question that follows finds the new answer.
//  2. An ApplicationSet is due when one of its requests is answered otherwise than by the state before, apart from the
//     revision; or refused for another reason. Each state is compared with the one before it: an answer that was there
//     for a moment only may have been asked for in that moment. It is due as well when a cluster that its answer deploys
//     to has been registered, or registered anew: before, Argo CD could make no Application of it.
//  3. What cannot be compared is due: all at the first state, all when states come faster than they can be compared, and
//     at each state those whose parameters Argo CD alone knows.
//  4. What is due stays so until Argo CD has been asked. Failures are tried again, later and later; differences add up
//     meanwhile, and one request settles them.
//  5. Until all ApplicationSets are known nothing is done, and the service goes on.
//  6. A new ApplicationSet, or one that asks something else, is not due: the controller asks by itself.
//  7. One that reports a failure while a state is served is due after a moment, and later and later while it goes on doing
//     so. The controller would ask again in three minutes; but the service is told of, and its token made, at about the
//     time of its ApplicationSets, and its first state serves before its pod can be reached.
//
// It knows nothing of HTTP and nothing of Kubernetes clients.
package appsets
