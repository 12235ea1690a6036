// Package board shows people what waits: rings and revisions of rollouts, when rings may take a
// change, and all that does not follow the newest commit.
//
//	Reader.Rollouts(report) -> rings x revisions
//	Reader.Held(status)     -> what is held back, since when, and what frees it
//	Reader.Calendar(hub)    -> days of windows and freezes
//
// A reader with a restricted scope sees the policies that concern a cluster of its scope, and no
// text that may name another one: no reason, detail or problem.
package board
