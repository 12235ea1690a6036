// Package plugin is the HTTP service: what Argo CD's plugin generator asks, and what people and machines ask beside it.
//
//	POST /api/v1/getparams.execute   parameter sets (token)
//	POST /api/v1/webhook             refresh now (token, or a forge's signature made with it)
//	GET  /api/v1/fleet               the members in a few words (token)
//	GET  /api/v1/explain             where a component's values come from (token)
//	GET  /healthz, /readyz, /metrics
//
// Its rules:
//
//  1. A 2xx answer to getparams is generator.State.Answer's bytes, untouched, with their length announced: an answer
//     that breaks off is an error to the client, never a shorter list (G1). Everything else is not 2xx.
//  2. Errors are `{"message": "..."}`; the same cause gives the same text (G5). Request ids and times are in headers
//     and in the log, never in a body.
//  3. Tokens are compared in constant time. One that begins with "$" is Argo CD's reference to a missing key of its
//     Secret, sent as it stands; it is refused, with a hint, and so is such a token file.
//  4. Token file and certificate are read anew as they change; a bad one leaves the last good one in place.
//  5. Requests, answers, concurrency and times are bounded (H10).
//  6. Neither tokens nor bodies are logged.
//  7. Stop drains: /readyz says 503 first, while requests are still answered; then what runs is finished.
package plugin
