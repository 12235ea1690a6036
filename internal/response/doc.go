// Package response makes the bytes of responses, and remembers them.
//
//	Respond(state, query) -> Response, or a *problem.QueryError   the plugin's response
//	Inputs(state, query) -> Response                          the same sets for Flux Operator
//	Cache.Get(state, query) -> Response                       Respond from memory
//
// Its rules:
//
//  1. A response is a pure function of the state and the query (G6): the same bytes every time.
//  2. Parameter sets of unchanged clusters are reused from the previous response when the facts are
//     the same. A response whose query depends on none of the Applications that changed is reused
//     whole.
//  3. Inputs are for engines that remove workloads with what was left out, as Flux does: removals
//     are left out at once. An id is the set's applicationName. Of two sets with one id the one
//     that runs, or the platform's, is there; between equals it is an error.
package response
