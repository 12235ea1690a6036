// Package notify makes Argo CD refresh those ApplicationSets whose response has changed.
//
//	states, as they are served ──┐
//	                             ├─> compare responses ─> pending ─> refresh, one at a time
//	ApplicationSets, as they are ┘
//
// Its rules:
//
//  1. A state is compared after the service has begun to serve it: the query that follows a refresh
//     finds the new response.
//  2. An ApplicationSet is pending when a state changes the response to one of its queries, apart
//     from the revision, or refuses it for another reason. Each state is compared with the one
//     before it: Argo CD may have queried in a moment in which a response existed. An
//     ApplicationSet is pending as well when a cluster that its response deploys to has been
//     registered, or registered anew: before, Argo CD could make no Application of it.
//  3. What cannot be compared is pending: all ApplicationSets at the first state, all when states
//     come faster than they can be compared, and at each state those whose parameters only Argo CD
//     knows.
//  4. A pending ApplicationSet stays so until Argo CD has accepted its refresh. Failures are
//     retried with growing delays; one refresh settles all differences that have come meanwhile.
//  5. Nothing is compared before all ApplicationSets are known; the service serves anyway.
//  6. A new ApplicationSet, or one with new queries, is not pending: the controller queries for it.
//  7. An ApplicationSet that reports a failure while a state is served is pending after a moment,
//     and again with growing delays while it fails. The controller would query in three minutes.
//     But the service and its token are made at about the time of its ApplicationSets, and its
//     first state is served before its pod can be reached.
//
// It knows nothing of HTTP and nothing of Kubernetes clients.
package notify
