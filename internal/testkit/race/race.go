//go:build race

package race

// Slack is the factor for bounds of time and memory. A race detector takes five to ten times the
// memory, and two to twenty times the time (https://go.dev/doc/articles/race_detector).
const Slack = 20
