//go:build race

package race

// Slack is by how much the race detector makes bounds of time and memory wider: its own
// documentation says five to ten times the memory, and two to twenty times the time
// (https://go.dev/doc/articles/race_detector).
const Slack = 20
