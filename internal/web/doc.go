// Package web serves pages that show a fleet: which cluster runs which version, why, and what is
// held.
//
//	GET /cluster?hub=hub-eu&cluster=shop-prod        a page
//	GET /api/v1/cluster?hub=hub-eu&cluster=shop-prod the same as JSON
//
// Callers may rely on:
//
//   - It only reads. Only the form that signs in accepts anything but GET.
//   - Every view is a URL with its filters. The same struct is rendered as a page and as JSON.
//   - Every page works without JavaScript and refers to no other origin: the
//     Content-Security-Policy is default-src 'self', without exceptions. Only html/template escapes
//     the fleet's texts.
//   - Each request needs a token with the route "web": in the Authorization header, in the cookie
//     of a session, or by a trusted proxy that names a group which is a token's name. Views and
//     errors show only what the token's scope sees.
//   - A session's cookie is the token, sealed by a random key that replicas share by the state
//     store. A revoked token ends its sessions. No URL and no log contains a token.
//   - A page says how old the state is, and calls unknown what is not current. The timeline says
//     since when it knows. It survives a restart in a bounded record of the state store.
//   - Requests, their rate, their concurrency and their time are bounded.
//   - An open page learns of a change by a stream of events, or else by polling. Streams are
//     bounded in number, end with their token, and name no cluster.
package web
