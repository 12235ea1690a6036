//go:build !race

package race

// Slack is the factor for bounds of time and memory; 1 without the race detector.
const Slack = 1
