// Package access says who may ask the service what: the tokens of its files, what each is good for, and how often its
// bearer, or an address that knows no token, may ask.
//
//	token file ───────────────┐ read again once in a while
//	tokens file ─> declared ──┼─> table of hashes ─> Find(presented) ─> Grant ─> Route, Ask, Cluster, Repository
//	tokens folder ─> values ──┘
//
// Its rules:
//
//  1. A token decides whether a question is answered, never what the answer is: an answer stays a function of the
//     request alone (G6), so that another token in its place gets the same answer or none, and no Application is deleted.
//  2. A token that is limited to tenants may ask what cannot select anything else: a selector that demands one of its
//     tenants of the label tenant, which Git alone sets (L1), or an owner that is a cluster of theirs. The question says
//     so by itself, and is refused if it does not.
//  3. Views, hubs, groups, owners and tenants that are not restricted are all allowed; routes are allowed one by one. A
//     scope that contradicts itself is refused when it is read.
//  4. What a token may not see and what is not there have one answer, so that names cannot be tried out.
//  5. A token's values are files of a folder, some of which may be missing: a new value is good as soon as its file is
//     there, an old one until its file is gone. The tokens file holds no secret.
//  6. At the start everything has to be good. Later, what is bad changes nothing: the last good tokens file stays, and of a
//     file of a value its last good content. Two tokens never have one value: it stays with the token that had it, or
//     is good for neither.
//  7. Presented tokens are compared by their hashes, in constant time, with all that there are.
//  8. Texts name tokens, files and what was asked for, never a value (G5: the same cause has the same text).
//  9. All that is remembered of addresses and tokens is bounded.
package access
