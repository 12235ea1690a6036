// Package race tells tests whether the race detector looks on, for which bounds of time and memory
// are wider.
package race
