// Package bootstrap reads the objects that a hub's roots lead to, as package expand follows them:
// the queries that ApplicationSets send, the projects, and the repositories that Argo CD reads.
//
//	roots := bootstrap.Of(hub)
//	bootstrap.MayAsk(query.Components, "addons") // whether some ApplicationSet queries for addons
//
// Where something cannot be followed, the Roots are Open: it may create any ApplicationSet and
// project. Callers must then not report anything as missing.
package bootstrap
