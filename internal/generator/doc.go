// Package generator computes parameter sets: a pure function of a snapshot, facts and a request.
//
//	Build(previous, snapshot, facts) -> State          once per change; costs what changed
//	State.Answer(request) -> bytes, or an *Error       the plugin's answer; the same bytes every time (rule G6)
//	State.Explain, State.Lint                          the same computation, for people
//
// Its rules:
//
//  1. An answer is complete or is not given (G1): one member that cannot be computed makes the answer an *Error that
//     names it, its file and line.
//  2. Path templates and the templates of fleet/fleet-secret see the live labels, the member file's and the reserved
//     ones; all other templates see the full result of labels.Compute. (fleet/fleet-secret declares labels: it cannot
//     depend on them.)
//  3. For each cluster and group one engine owns the Applications: fleet.Member.Owner, asked by every view (M1, M2).
//  4. A component's values are, least specific first: the catalog entry's `values` (the request's base or the
//     layout's catalog, then the hierarchy's application-sets/<group>.yaml level by level), then the value files level
//     by level (H1).
//  5. Merged trees are remembered by the identity of their layers, which are shared by all clusters that have them in
//     common, and outlive a State: a warm answer costs what is different.
//
// It knows neither HTTP nor Kubernetes clients nor Git, and does no I/O.
package generator
