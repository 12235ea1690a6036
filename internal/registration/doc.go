// Package registration computes the values that register a cluster, and those that its own engine
// starts with.
package registration
