// Package lifecycle decides which engine owns a group now, and why and how a parameter set is
// removed.
//
//	Owns, MayDeploy        which engine owns a group, and which may deploy it now
//	Diff                   what a response loses of a baseline, and why
//	Holdings               what the repository gives a member, whichever engine deploys it
//	RemovalsOf(...).Of     the reason of a removal, and what becomes of the workloads
//	RemovalStep, Removing  how far a removal in two steps has come
//
// It is pure: Applications, HelmReleases and ownership grants are facts.
//
// Its rules:
//
//  1. For each cluster and group one engine owns the Applications: fleet.Member.Owner (M1, M2).
//  2. No two engines have a group of a member at any moment (M3). The hub grants the group (view
//     grants) when the facts show nothing of it on the hub any more. A member's service answers the
//     group while it holds the grant, and releases it when it answers nothing of the group and the
//     facts show nothing of it. What waits has moved (D2). Without such facts, Git alone decides. A
//     retired member's grants stay.
//  3. A set that is removed together with its workloads is answered with `deletion: cascade` while
//     the facts show its Application without the cascading finalizer, then left out (D3). That
//     takes a statement: `enabled: false`, a label that the selector refuses, or a retired member's
//     `deletion: cascade`. Everything else is left out at once (D2, D4).
//  4. A set that moves between releases stays out of the new release's response until no other
//     ApplicationSet controls its Application (D4): Argo CD would fail on it and delete nothing.
//  5. A cluster without a Secret that has Applications of the requester's, or whose own engine
//     asks, cannot be computed (G2). A retired cluster, and view members, need no Secret.
package lifecycle
