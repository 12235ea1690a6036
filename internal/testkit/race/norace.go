//go:build !race

package race

// Slack is by how much the race detector makes bounds of time and memory wider: it is not there.
const Slack = 1
