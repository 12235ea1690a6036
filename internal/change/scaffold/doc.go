// Package scaffold writes files of a fleet repository: a whole fleet to begin with, and a hub, a
// member, a tenant, a team, a component or an application in one that is there.
//
//		NewFleet, NewHub, NewMember, NewTenant, NewTeam, NewComponent, NewApp, MoveApp -> Draft
//		Draft.Write
//
//	 1. A Draft has been built: the fleet is resolved and linted with its files before anything is
//	    written. A further error refuses it.
//	 2. Nothing that is there is overwritten. A catalog gets a new entry, or another value of one
//	    key; whatever else it says, and its comments, stay.
//	 3. All new files are written or none, also when the process is killed (package atomicfile).
//	    Changes of files come after them, one after the other; an error takes all back.
//	 4. A Draft names what it writes and what to do next.
//	 5. NewFleet writes examples/fleet, and with Minimal examples/minimal, for other names.
package scaffold
