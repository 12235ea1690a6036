// Package bootstrap reads what a hub's roots lead to, as package expand follows them: which queries
// the ApplicationSets send, which projects there are, and which repositories Argo CD reads.
//
//	Of(hub) -> Roots
//
// Where something is not followed, the Roots are Open: it may make any ApplicationSet and project,
// so that nothing can be said of what is missing.
package bootstrap
