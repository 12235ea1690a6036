// Package scaffold writes files of a fleet repository: a whole fleet, or a hub, a member, a tenant,
// a team, a component or an application in an existing one.
//
//	draft, err := scaffold.NewMember(ctx, repository, scaffold.Member{
//		Hub: "hub-eu", Name: "shop-prod", Tenant: "shop", Environment: "prod",
//	})
//	err = draft.Write()
//
// Callers may rely on:
//
//  1. A Draft has been built: the fleet is resolved and linted with its files before anything is
//     written. An additional error refuses it.
//  2. Nothing is overwritten. A file that is there gets a new entry, or another value of one key:
//     all other lines stay (yamldoc.Editor). A form in which that cannot be done is refused.
//  3. All new files are written or none: an error undoes what was written (package disk).
//     Changes of files come after them, one after the other; an error reverts all.
//  4. A Draft names what it writes and what to do next.
//  5. NewFleet writes examples/fleet, or examples/minimal with Minimal, with other names.
package scaffold
