// Package factor removes repetition: it writes values at the least specific level that they hold
// for, and texts as one template over the facts of the clusters.
//
//	// eu-1: {replicas: 3, zone: a}; eu-2: {replicas: 3, zone: b}
//	byFolder := factor.ByLevel(places, values)
//	// all: {replicas: 3}; eu-1: {zone: a}; eu-2: {zone: b}
//
// Callers may rely on:
//
//  1. Values are at the least specific level whose clusters all have them. Along a cluster's levels
//     they merge to the cluster's own values under Helm's merge.
//  2. Exceptions of a few clusters of an environment are at their own level. The value of more than
//     half is at the environment's, if all its clusters set one.
//  3. No value is lifted over a cluster that does not have it: only null would remove it there.
//  4. Texts that differ by facts of their clusters become one template. Texts that no fact explains
//     have a condition each. A text that looks like a template is escaped.
//  5. The inputs are not changed, and the same input gives the same output.
package factor

// Clusters holds the facts that templates may name, by cluster.
type Clusters map[string]Facts

// Facts are the facts of one cluster. Own are further words of it, each with the template that
// stands for it: in the same order for all clusters.
type Facts struct {
	Name, Environment, Tenant string
	Own                       []Word
}

// Word is a word of a cluster; empty where the cluster has none.
type Word struct{ Text, Template string }
