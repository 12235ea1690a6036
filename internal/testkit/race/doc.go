// Package race gives the factor by which tests widen their bounds of time and memory under the race
// detector.
package race
