// Package factor writes once what several clusters have in common: values at the least specific
// level that they hold for, and texts as one template over the facts of the clusters.
//
// Its rules:
//
//  1. Values stand at the least specific level whose clusters all have them alike. Along a
//     cluster's levels they merge to the cluster's own values under Helm's merge.
//  2. An exception of a few clusters of an environment stands at their own level, and the value of
//     most of them at the environment's, if all of them set it.
//  3. Nothing is lifted over a cluster that does not have it: only null would take it away there.
//  4. Texts that differ by facts of their clusters are one template. Texts that no fact explains
//     have a condition each. What is a template by accident is escaped.
//  5. The inputs stay as they are, and same input gives the same output.
package factor

// Clusters are the facts of clusters that templates may name, by the cluster.
type Clusters map[string]Facts

// Facts are those of one cluster.
type Facts struct{ Name, Environment, Tenant string }
