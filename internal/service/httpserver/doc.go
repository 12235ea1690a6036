// Package httpserver has the common parts of the API and the pages: a listener with its limits, a
// type of failure, middleware, TLS, and a gate for tokens.
//
//	server := httpserver.New(httpserver.Secured(policy, mux), nil, limits, log)
//	err := server.Serve(listener) // nil after Stop
//
// Callers may rely on:
//
//  1. Connections, headers and times are bounded. A connection beyond the bound waits for another
//     to end.
//  2. A panic is 500 if nothing has been written. A response that has begun is broken off, so that
//     no client takes a part of it for the whole.
//  3. Every response sets no-store and a Content-Security-Policy.
//  4. One token gets half of the concurrent requests, and its own rate. Failed attempts share a
//     rate of their own, so they never block a valid token.
//  5. A renewed certificate needs no restart. A handshake succeeds without a client certificate, as
//     the kubelet has none; Authorities.Verify refuses what needs one. A removed authority does not
//     count on open connections either.
package httpserver
