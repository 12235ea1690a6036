// Package overview computes what people look at: a matrix of clusters and components with desired
// and running versions, who differs, what is held back, and where a value is set. Its rules:
//
//  1. Every view is a plain struct, a pure function of a state, the facts of what runs, and a
//     filter. It has no HTTP and no markup in it.
//  2. A view shows what its reader sees and nothing else: names, counts, options of filters and
//     texts of errors are computed from visible clusters and groups alone.
//  3. An Index remembers the desired state of every component of every cluster in some bytes each:
//     equal ones are one. The Index of the next state takes over the clusters that the state took
//     over.
//  4. A view has at most a page of rows, columns or findings, and says how many there are.
//  5. What nobody reports now is unknown. A remembered status is never shown as the current one,
//     and neither is that of an engine whose cluster's API server does not respond.
//  6. A History remembers what the last states changed, in bounded memory. That something runs is
//     known by what an engine reports after the state, and never by what it reported before.
package overview
