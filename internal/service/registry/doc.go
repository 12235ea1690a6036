// Package registry serves the artifacts that Flux pulls as a read-only OCI registry
// (distribution-spec v1.1, pull alone): flux/<hub>/<owner>, with the tags latest and the revision.
//
//	path ─> Parse ─> Reference ─┐
//	                            ├─> Serve ─> manifest, config or layer, by tag or digest
//	state ─> flux.Build ────────┘
//
// Its rules:
//
//  1. An artifact is built once for each state.
//  2. Content that was served is available by its digest for a while: a client that has read the
//     manifest finds the layer, also when a new state has come in between.
//  3. A repository gives its own content alone: a digest of another repository is unknown in it.
//  4. All that is remembered is bounded (H10).
//
// The caller authenticates, and decides which repositories a client may see.
package registry
