// Package server is the HTTP service. It responds to the queries of Argo CD's plugin generator and
// of Flux, to the webhooks of forges, and to requests of users and monitoring.
//
//	POST /api/v1/getparams.execute   parameter sets (token)
//	GET  /api/v1/flux/inputs         the same for Flux Operator (token, also as a password)
//	GET  /v2/...                     artifacts for Flux, as an OCI registry (the same)
//	POST /api/v1/webhook             refresh now (token, or a forge's signature made with it)
//	GET  /api/v1/fleet               a summary of each member (token)
//	GET  /api/v1/rollouts            the rings of rollouts (token)
//	GET  /api/v1/explain             where a component's values come from (token)
//	GET  /healthz, /readyz, /metrics
//
// Each route has one file. Every request passes routes.go, middleware.go and admission.go first.
//
// For example, an ApplicationSet's query and its response:
//
//	{"applicationSetName": "addons-default-external-dns",
//	 "input": {"parameters": {"view": "components", "group": "addons"}}}
//
//	{"output": {"parameters": [{"name": "retail-prod-eu-1",
//	  "applicationName": "external-dns-retail-prod-eu-1", ...}]}}
//
// Callers may rely on:
//
//  1. A 2xx response to getparams or flux/inputs is complete and announces its length. A response
//     that breaks off is an error to the client, never a shorter list. A response beyond its limit
//     is refused: Flux Operator would silently cut off its inputs and remove their workloads.
//  2. An error is `{"message": "..."}`, and the same cause has the same text. Request ids and times
//     are only in headers and in the log.
//  3. A token is checked before a body is read, except for signed webhooks. A refusal by the
//     token's scope is 403 and says what is not allowed (package access).
//  4. Connections, requests, responses, concurrency, rates and times are bounded (package
//     httpserver). Other clients' failed attempts never block a valid token.
//  5. Files of tokens, certificates and authorities are read again as they change. An invalid file
//     leaves the last valid one in use.
//  6. Neither tokens nor bodies are logged. No response may be stored by caches or rendered by
//     browsers.
//  7. Stop drains: /readyz responds 503 first, while requests still get responses. Then Stop waits
//     for the requests in progress.
//  8. A state is served before any ApplicationSet is refreshed because of it (package notify).
package server
