// Package server is the HTTP service: what Argo CD's plugin generator and Flux Operator ask, and what people and machines
// ask beside it.
//
//	POST /api/v1/getparams.execute   parameter sets (token)
//	GET  /api/v1/flux/inputs         the same parameter sets for Flux Operator (token, also as a password)
//	GET  /v2/...                     artifacts for Flux, as an OCI registry (token, also as a password)
//	POST /api/v1/webhook             refresh now (token, or a forge's signature made with it; forges.go)
//	GET  /api/v1/fleet               the members in a few words (token)
//	GET  /api/v1/explain             where a component's values come from (token)
//	GET  /healthz, /readyz, /metrics
//
// Its rules:
//
//  1. A 2xx answer to getparams is generator.State.Answer's bytes, one to flux/inputs generator.State.Inputs', untouched,
//     with their length announced: an answer that breaks off is an error to the client, never a shorter list (G1).
//     Everything else is not 2xx.
//  2. Errors are `{"message": "..."}`; the same cause gives the same text (G5). Request ids and times are in headers
//     and in the log, never in a body.
//  3. Tokens are compared in constant time. One that begins with "$" is Argo CD's reference to a missing key of its
//     Secret, sent as it stands; it is refused, with a hint, and so is such a token file.
//  4. Token files, certificate and client authorities are read anew as they change; a bad one leaves the last good one in
//     place.
//  5. Requests, their headers, answers, concurrency, rates and times are bounded (H10).
//  6. Neither tokens nor bodies are logged.
//  7. Stop drains: /readyz says 503 first, while requests are still answered; then what runs is finished.
//  8. A state is being served before any ApplicationSet is told to ask for its answers (internal/appsets).
//  9. Flux Operator cuts off silently what is beyond its provider's limit, and removes what was cut off: an answer that
//     has more inputs than the request says the provider takes is an error.
//  10. The registry below /v2/ only gives. Its errors are those of OCI's specification, with which Flux keeps the artifact
//     that it has; what a client has been given stays available by its digest for a while, so that one pull sees one state.
//  11. Each route but /healthz, /readyz and /metrics asks internal/access first whether the token is good for it, and then
//     whether its bearer may ask this; a refusal is 403 and names what is not allowed. A good token is never refused for
//     what others do: failed attempts are counted by address, apart.
//  12. Every answer forbids caches and browsers to make something of it.
//  13. Connections are bounded. Beyond the bound the one that has waited for longest goes, and requests are refused before
//     there is no room for probes and metrics. Before a token is known to be good nothing is kept of a request but its header.
package server
