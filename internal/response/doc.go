// Package generator computes parameter sets: a pure function of a snapshot, facts and a request.
//
//	Build(previous, snapshot, facts) -> State          once per change; costs what changed
//	Restore(snapshot, facts, homes) -> State           the same of nothing: homes are what rule 10 needs of before
//	State.Answer(request) -> bytes, or an *Error       the plugin's answer; the same bytes every time (rule G6)
//	State.Inputs(request) -> bytes, or an *Error       the same sets for Flux Operator
//	State.Explain, State.Lint                          the same computation, for people
//
// Its rules:
//
//  1. An answer is complete or is not given (G1): one member that cannot be computed, and of which nothing good is known
//     (rule 10), makes the answer an *Error that names it, its file and line.
//  2. Path templates and the templates of fleet/fleet-secret see the live labels, the member file's and the reserved
//     ones; all other templates see the full result of labels.Compute. (fleet/fleet-secret declares labels: it cannot
//     depend on them.)
//  3. For each cluster and group one engine is to own the Applications: fleet.Member.Owner, asked by every view (M1, M2).
//  4. A component's values are, least specific first: the catalog entry's `values` (the request's base or the
//     layout's catalog, then the hierarchy's application-sets/<group>.yaml level by level), then the value files level
//     by level (H1).
//  5. Merged trees are remembered by the identity of their layers, which are shared by all clusters that have them in
//     common, and outlive a State: a warm answer costs what is different. What a State has from the one before, its clusters
//     and what its answers say of them, it takes as it is (clusters.go, again.go).
//  6. A set that is to go together with what it runs is answered with `deletion: cascade` while the facts show its
//     Application without the cascading finalizer, and left out otherwise (D3). That takes a statement: `enabled: false`,
//     a label that the selector refuses, or a retired member's `deletion: cascade`. What moves, or is merely not there any
//     more, is left out at once (D2, D4). Where the facts know nothing of Applications, everything is.
//  7. A set that moves between releases is left out of the new release's answer until the Application of that name is
//     gone, or no ApplicationSet controls it any more (D4): Argo CD fails on an Application that another ApplicationSet
//     controls, and then deletes nothing. The request's own ApplicationSet is no other.
//  8. Inputs are for engines that remove what runs together with what was left out, as Flux does: what is to go is left
//     out at once, whatever the facts know of Applications. An id is the set's applicationName; two sets with one id are
//     an *Error.
//  9. A cluster that is not registered, but has Applications of the asker's, or whose own engine asks, cannot be computed:
//     its Secret has gone. The answer is an *Error, as it would remove what is there (G2). A retired cluster, and view
//     members, need no Secret.
//  10. A member with an error anywhere in its files stays as a whole at home: on the last snapshot that it could be
//     computed from (G2), with the facts of now. All that answers say of it comes from there, its release and its engine
//     too, and each of its sets has a `quarantine`; all other members go on. An error in the hub's own member file is one
//     of all its members. Without a home, a member that has no Applications is left out, as nothing can be lost; else the
//     answer is an *Error. Of a release, what the snapshot says wins; one that only members at home are on is as it was
//     there. A snapshot, its Homes and the facts are all that a State depends on (G6).
//  11. A member file that goes from one hub's folder to another's from one State to the next has moved (D2).
//  12. A draining member stays at home, too: on the last snapshot before it was draining, or the first with it. Its sets are
//     as they were, without a `quarantine`. It takes all changes when it is active again, or retired.
//  13. No two engines have a group of a member at any moment (M3), although their services learn of a commit at different
//     moments. The hub grants the group (view grants) when the facts show nothing of it on the hub any more, and has it for
//     itself when they show no Application that delivers the grant. A member's service that watches its grants answers the
//     group while it holds the grant, whatever Git says, and releases the grant that is to go when it answers nothing of the
//     group and the facts show nothing of it. What waits has moved (D2). Where the facts know of none of this, Git alone
//     decides. A retired member's grants stay, as nobody else is to have its groups.
//
// It knows neither HTTP nor Kubernetes clients nor Git, and does no I/O.
package response
