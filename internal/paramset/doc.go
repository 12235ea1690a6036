// Package paramset computes the parameter sets of a query.
//
//	Generate(state, query) -> []Set, or a *problem.QueryError
//	OfCluster(state, query, cluster) -> ClusterSets
//
// Its rules:
//
//  1. A response is complete or is not given (G1): one member that cannot be computed, and that has
//     no last known good snapshot, makes an error that names it, its file and line.
//  2. Sets are sorted by cluster, then component or release (G6).
package paramset
