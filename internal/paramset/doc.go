// Package paramset computes the parameter sets of a query.
package paramset
