// Package board shows what waits in a fleet: rings and revisions of rollouts, when rings may take a
// change, and all that does not follow the newest commit.
//
//	reader := board.Reader{State: state, Scope: bearer, Now: time.Now()}
//	reader.Rollouts(report)             // ring canary has passed 4f2a91c, ring prod soaks it
//	reader.Held(holds, query, stale)    // each hold, since when, and what ends it
//	reader.Calendar(report)             // 14 days of windows and freezes
//
// A reader with a restricted scope sees the policies that concern a cluster of its scope. It sees
// no text that may name another cluster: no reason, detail or problem.
package board
