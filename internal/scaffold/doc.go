// Package scaffold writes new files of a fleet repository: a whole fleet to begin with, and a hub,
// a member, a tenant or a component in one that is there.
//
//		NewFleet, NewHub, NewMember, NewTenant, NewComponent -> Draft;  Draft.Write
//
//	 1. A Draft has been built: the fleet is resolved and linted with its files before anything is
//	    written. A further error refuses it.
//	 2. Nothing that is there is overwritten, but for the catalog that gets a new component.
//	 3. All files are written or none, also when the process is killed (package atomicfile).
//	 4. A Draft names what it writes and what to do next.
//	 5. NewFleet writes examples/fleet, and with Minimal examples/minimal, for other names.
package scaffold
