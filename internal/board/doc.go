// Package board shows rollouts to people: rings and revisions, what each ring waits for, and when
// rings may take a change.
//
//	Reader.Rollouts(report) -> rings x revisions
//	Reader.Calendar(hub)    -> days of windows and freezes
//
// A reader with a restricted scope sees the policies that concern a cluster of its scope, and no
// text that may name another one: no reason, detail or problem.
package board
