// Package parallel calls a function for each of a number of indices, on all processors.
package parallel
