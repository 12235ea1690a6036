// Package team computes what a fleet runs for its teams from one file a team.
//
//	Load     the teams of a snapshot, by Parse and Compute
//	Parse    fleet/teams/<team>.yaml, with every problem at its place
//	Compute  the members that each team reaches, and what is wrong where
//	Share    what one member takes of it: catalog layers and values of the group teams
//
// Everything is a function of the team files and the member files of one snapshot.
//
//  1. A team reaches members of its own tenant alone, and never a hub. Its name and theirs are
//     compared as a whole, never as patterns (T2).
//  2. A team is the component team-<team> of the group teams. The catalog's entry `team` is that of
//     every team on a member; `team-project` is that of every team on a hub.
//  3. What the team file says wins over every level: levels set presets and options (T1).
//  4. A team file with an error concerns its tenant's members and their hubs, and those alone. If
//     not even its tenant can be read, it concerns all members: none may look as if its team had
//     gone (G1).
//  5. A namespace that two teams claim on one cluster is a problem of that cluster and its hub.
//     Both are then served as they were, so that the team that has the namespace keeps it.
package team
