// Package checks carries out the checks of rollout policies: queries of HTTP endpoints and of
// Prometheus servers.
//
//	New(allowed) -> Client
//	Client.Look(check) -> why it does not hold
//
// Its rules:
//
//  1. A policy names the address, and the service's operator the hosts that policies may name.
//     Without any, no check is carried out, and no ring with checks goes on.
//  2. A name that is allowed never leads to this machine, to a link-local address such as a cloud's
//     metadata service, or to a multicast address: that is judged at each connection. An address
//     that is allowed by itself may be any.
//  3. No redirect is followed, no proxy is used, and no credentials are sent.
//  4. Everything is bounded: the time of a look, the connections, and the bytes and samples of a
//     response.
//  5. An endpoint fails by another status than 200, and a query by a sample beyond the bounds. What
//     cannot be reached, is no number or has no samples says nothing: the check does not hold, and
//     does not fail.
//  6. What a response says is never repeated, but for its status and one number.
package checks
