// Package notify makes Argo CD refresh the ApplicationSets whose response has changed. Otherwise
// Argo CD would query the service only at its next interval.
//
//	served states ──┐
//	                ├─> compare responses ─> pending ─> refresh, one at a time
//	ApplicationSets ┘
//
// For example, a commit adds the member payments-prod-eu-1. The response to the ApplicationSet
// addons-default-dns has one more parameter set, so Argo CD refreshes that ApplicationSet.
//
// Callers may rely on:
//
//  1. A state is compared after the service has begun to serve it, so the query that follows a
//     refresh gets the new response.
//  2. An ApplicationSet is pending when a state changes the response to one of its queries, apart
//     from the revision, or refuses it for another reason. Each state is compared with the previous
//     one, as Argo CD may have queried in between. An ApplicationSet is also pending when a cluster
//     of its response is registered (again): before, Argo CD could make no Application for it.
//  3. If a comparison is impossible, ApplicationSets are pending. At the first state, or when
//     states come too fast, all are; at each state, those whose parameters only Argo CD knows.
//  4. An ApplicationSet is pending until Argo CD has accepted its refresh. Failures are retried
//     with growing delays; one refresh covers all differences since the last one.
//  5. Nothing is compared before all ApplicationSets are known; the service serves anyway.
//  6. A new ApplicationSet, or one with new queries, is not pending: the controller queries for it.
//  7. An ApplicationSet that reports a failure while a state is served is pending after a moment,
//     and again with growing delays. At the start its first query may come before the service's
//     pod can be reached; the controller would repeat it only after three minutes.
//
// The package depends neither on HTTP nor on Kubernetes clients.
package notify
