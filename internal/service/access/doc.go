// Package access decides who may query the service: it reads the tokens, knows the scope of each,
// and bounds how often the bearer of a token may query.
//
//	token file ───────────────┐ read again once in a while
//	tokens file ─> declared ──┼─> table of hashes ─> Find(presented) ─> Bearer ─> Route, Ask, ...
//	tokens folder ─> values ──┘
//
// Its rules:
//
//  1. A token decides whether a query is answered, never what the response is: a response stays a
//     function of the query alone (G6). Another token gets the same response or none, so that no
//     Application is deleted.
//  2. A token that is limited to tenants may query only what cannot select anything else: by a
//     selector that demands one of its tenants of the label tenant, which Git alone sets (L1), or
//     by an owner that is a cluster of theirs. The query itself has to say so, or it is refused.
//  3. Views, hubs, groups, owners and tenants are allowed unless restricted; routes are allowed one
//     by one. A scope that contradicts itself is refused when it is read.
//  4. A hidden cluster and a missing one get the same response, so that nobody can try names out.
//  5. A token's values are files of a folder, some of which may be missing: a new value is good as
//     soon as its file is there, an old one until its file is gone. The tokens file holds no
//     secret.
//  6. At the start everything has to be good. Later a bad file changes nothing: the last good
//     tokens file stays in use, and the last good content of a value's file. Two tokens never share
//     a value: it stays with the token that had it, or is good for neither.
//  7. A presented token is compared with all tokens by hash, in constant time.
//  8. Errors name tokens, files and queries, never a value (G5: one cause, one text).
package access
