// Package access decides who may query the service. It reads the tokens, knows the scope of each
// token, and limits how often its bearer may query.
//
//	token file ───────────────┐ read again once in a while
//	tokens file ─> declared ──┼─> table of hashes ─> Find(presented) ─> Bearer ─> Route, Ask, ...
//	tokens folder ─> values ──┘
//
// A token of the tokens file, whose value is in the tokens folder:
//
//	apiVersion: argosy.dev/v1alpha1
//	kind: Tokens
//	tokens:
//	  - name: payments
//	    files: [payments/token]
//	    allow: {routes: [getparams], tenants: [payments]}
//
// Callers may rely on:
//
//  1. A token decides whether a query gets a response, never the content of the response. Another
//     token gets the same response or none, so no Application is deleted.
//  2. A token that is limited to tenants may query only the clusters of its tenants. The query has
//     a selector that demands one of its tenants, or an owner that is a cluster of them.
//  3. Views, hubs, groups, owners and tenants are allowed unless restricted; routes are allowed one
//     by one. A scope that contradicts itself is refused when it is read.
//  4. A hidden cluster and a missing one get the same response, so names cannot be guessed.
//  5. A token's values are files of a folder, and some may be missing. A new value is valid as soon
//     as its file exists, an old one until its file is gone. The tokens file holds no secret.
//  6. At the start all files must be valid. Later, an invalid file leaves its last valid content in
//     use. Two tokens never share a value: the token that had it first keeps it, or neither has it.
//  7. A presented token is compared with all tokens by hash, in constant time.
//  8. Errors name tokens, files and queries, never a value. The same cause has the same text.
package access
