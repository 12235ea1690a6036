// Package registry serves the artifacts that Flux pulls, as a read-only OCI registry
// (distribution-spec v1.1, only pull). Repositories are flux/<hub>/<owner>, with the tags latest
// and the revision:
//
//	GET /v2/flux/hub-eu/payments-prod-eu-1/manifests/latest
//
//	path ─> Parse ─> Reference ─┐
//	                            ├─> Serve ─> manifest, config or layer, by tag or digest
//	state ─> flux.Build ────────┘
//
// Callers may rely on:
//
//  1. An artifact is built once for each state.
//  2. Served content stays available by its digest for a while. A client that has read a manifest
//     finds its layer even if a new state is served in between.
//  3. A repository serves only its own content: it does not know another repository's digests.
//  4. All remembered content is bounded.
//
// The caller authenticates, and decides which repositories a client may see.
package registry
