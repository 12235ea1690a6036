// Package server is the HTTP service: it answers the queries of Argo CD's plugin generator and of
// Flux, the webhooks of forges, and the questions of people and monitoring.
//
//	POST /api/v1/getparams.execute   parameter sets (token)
//	GET  /api/v1/flux/inputs         the same for Flux Operator (token, also as a password)
//	GET  /v2/...                     artifacts for Flux, as an OCI registry (the same)
//	POST /api/v1/webhook             refresh now (token, or a forge's signature made with it)
//	GET  /api/v1/fleet               the members in short (token)
//	GET  /api/v1/explain             where a component's values come from (token)
//	GET  /healthz, /readyz, /metrics
//
// Each route has one file. Every request passes routes.go, middleware.go and admission.go first.
//
// Its rules:
//
//  1. A 2xx response to getparams or flux/inputs is the resolver's bytes untouched, with their
//     length announced: a response that breaks off is an error to the client, never a shorter list
//     (G1). Everything else is not 2xx.
//  2. Errors are `{"message": "..."}`; one cause has one text (G5). Request ids and times are in
//     headers and in the log, never in a body.
//  3. Tokens are compared in constant time. One that begins with "$" is Argo CD's unresolved
//     reference to a key of its Secret. It is refused, with a hint, and so is such a token file.
//  4. Token files, the certificate and the client authorities are read again as they change; a bad
//     file leaves the last good one in use.
//  5. Requests, their headers, responses, concurrency, rates and times are bounded (H10). Of the
//     requests that are worked on at once one token gets half (httpserver.Gate).
//  6. Neither tokens nor bodies are logged.
//  7. Stop drains: /readyz says 503 first, while requests still get responses. Then Stop waits for
//     those under way.
//  8. A state is served before any ApplicationSet is refreshed because of it
//     (internal/service/notify).
//  9. Flux Operator silently cuts off inputs beyond its provider's limit, and removes what they
//     deploy. A response with more inputs than the request allows is an error.
//  10. The registry below /v2/ is read-only. Its errors are those of OCI's specification, on which
//     Flux keeps its artifact. Content that was served stays available by its digest for a
//     while, so that one pull sees one state.
//  11. Each route but /healthz, /readyz and /metrics asks internal/service/access whether the token
//      is good
//     for it, and whether the query is in the token's scope; a refusal is 403 and names what is not
//     allowed. A good token is never refused because of others: failed attempts are counted apart.
//  12. Every response forbids caches to store it and browsers to render it.
//  13. Connections are bounded: beyond, a new one waits for another to end. Before a token is known
//     to be good, nothing of a request but its header is kept.
package server
