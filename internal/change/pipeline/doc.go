// Package pipeline follows a fleet from one revision of its repository to another: what a change
// does to every cluster (Plan), what a hub's pipeline makes (Render), and the state of a folder or
// a revision (Repository).
//
// It reads snapshots, builds the states, expands the pipelines of the hubs, and has the guard
// decide without effect. It links neither Argo CD nor Helm: the caller hands in the
// expand.Tools.
package pipeline
