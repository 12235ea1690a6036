// Package overview computes the views of a fleet: a matrix of clusters and components with desired
// and running versions, outliers, holds, and where a value is set.
//
//	index := cache.Of(state)
//	m := index.Matrix(scope, live, overview.Filter{Group: "addons"}, "environment", 1)
//	// m.Rows[0]: prod-eu-1, karpenter 1.8.2, running 1.8.1 (OutOfSync)
//
// Callers may rely on:
//
//   - Every view is a plain struct: a pure function of a state, the running statuses, and a filter.
//     It has no HTTP and no markup in it.
//   - A view shows only what its reader sees: names, counts, options of filters and texts of errors
//     are computed only from visible clusters and groups.
//   - An Index holds the desired state of every component of every cluster in a few bytes each, and
//     equal states once. The next Index reuses the rows of clusters that the state reused.
//   - A view has at most a page of rows, columns or findings, and says how many there are.
//   - A status that is not reported now is unknown. A remembered status is never shown as the
//     current one; neither is the status of an engine whose cluster's API server does not respond.
//   - A History remembers the changes of the last states in bounded memory. Only a report of an
//     engine from after the state counts as running.
package overview
