// Package web serves pages that show a fleet: which cluster runs which version, why, and what is
// held back. Its rules:
//
//  1. It reads, and changes nothing. Only the form that signs in accepts anything but GET.
//  2. Every view is a URL with its filters. The same struct is rendered as a page and, below
//     /api/v1, as JSON.
//  3. Every page works without JavaScript. Assets are embedded, and no page refers to another
//     origin: the Content-Security-Policy is default-src 'self', without exceptions.
//  4. Each request needs a token with the route "web", by the Authorization header or by the cookie
//     of a session; or a proxy whose address is trusted names a group that is a token's name. Views
//     and errors show what the token's scope sees, and nothing else.
//  5. A session's cookie is the token, sealed by a random key, which replicas share by the state
//     store. No replica has to know a session, and a token that is revoked ends it. No URL and no
//     log has a token.
//  6. Texts of a fleet's files are escaped by html/template alone: nothing is marked as safe.
//  7. A page says how old the state is. What is not current is called unknown.
//     The timeline says since when it knows, and where nobody looked. It survives a restart in a
//     bounded record of the state store, which replicas share.
//  8. Requests, their rates, their number at once and their time are bounded.
//  9. An open page learns of a change by a stream of events, and where there is none, by polling.
//     Streams are bounded in number, end with their token, and name no cluster.
package web
