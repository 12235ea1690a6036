// Package team computes what a fleet runs for its teams, from one file for each team.
//
//	Load     the teams of a snapshot, by Parse and Compute
//	Parse    fleet/teams/<team>.yaml, with every problem at its place
//	Compute  the members that each team reaches, and what is wrong where
//	Share    one member's part: catalog layers and values of the group teams
//
// This team reaches the clusters of payments whose environment is dev, as the component
// team-checkout:
//
//	# fleet/teams/checkout.yaml
//	name: checkout
//	tenant: payments
//	owners: [payments-checkout]
//	clusters: {matchLabels: {environment: dev}}
//	namespaces: [{name: checkout}]
//
// Everything is a function of the team files and the member files of one snapshot. Callers may rely
// on the following:
//
//  1. A team reaches only members of its own tenant, and never a hub. Their names are compared as a
//     whole, never as patterns (T2).
//  2. A team is the component team-<team> of the group teams. The catalog's entry `team` applies to
//     every team on a member; `team-project` applies to every team on a hub.
//  3. The team file wins over every level: levels set presets and options (T1).
//  4. A team file with an error concerns only its tenant's members and their hubs. If not even its
//     tenant can be read, it concerns all members: no team may look as if it had been removed (G1).
//  5. A namespace that two teams claim on one cluster is a problem of that cluster and its hub.
//     Both are then served as before, so that the team that has the namespace keeps it.
package team
