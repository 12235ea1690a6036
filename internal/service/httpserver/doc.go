// Package httpserver is what the API and the pages have in common: one listener with its limits,
// one type of failure, one set of middleware, and one gate for tokens.
//
//	server := httpserver.New(httpserver.Secured(policy, mux), nil, limits, log)
//	err := server.Serve(listener) // nil after Stop
//
// Its rules:
//
//  1. Connections, headers and times are bounded; a connection beyond the bound waits for another
//     to end (H10).
//  2. A panic is 500 when nothing has been written. A response that has begun is broken off, so
//     that nobody takes a part for the whole (G1).
//  3. Every response forbids caches to store it, and browsers to render anything in it that the
//     policy does not allow.
//  4. One token gets half of the requests at once and its own rate. Failed attempts of all have a
//     rate; a good token is never refused for them.
package httpserver
