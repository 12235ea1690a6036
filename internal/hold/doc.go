// Package hold says which cells keep an older row, and why. A cell is a component of a group on a
// cluster. Everything that keeps one back is a hold with a reason, a scope, and what ends it.
//
//	holds := hold.Sorted(slices.Concat(hold.OfState(st), hold.OfRemovals(refused), hold.OfWaits(st, waits)))
//	hold.Query{Cluster: "shop-prod", Group: "addons", Component: "dns"}.Of(holds) // of one cell
//	hold.Summarize(holds)                                                         // by reason
//
// The mechanisms that hold something decide elsewhere: this package collects what they decided,
// with the same words for all readers. Everything is a pure function of its arguments.
package hold
