// Package rollout decides which revision each ring of a fleet is answered from.
//
//	Parse(file) -> Policy                                  fleet/rollouts/<name>.yaml
//	Policy.RingOf(member) -> ring                          which ring a member belongs to
//	Advance(policy, log, facts, now) -> log, waits         the state machine
//	Coverage(policies, members) -> problems                what lint reports
//
// It is pure: it knows no State, no store, no engine and no clock. Its rules:
//
//  1. A train is an accepted revision with a number. The first ring takes the newest train, each
//     other ring the newest train that passed the ring before it. No ring takes an older train,
//     except by a pin, or by `onFailure: back`. Without a pin, a ring takes no train up to the
//     newest that it went back from, and later rings none that a pin put it back from.
//  2. A ring takes a train only when it is free: its own train passed or failed. So trains
//     coalesce, and no ring starves.
//  3. A train passes when the ring is healthy for the soak without a break. Any break, also one
//     between two looks, starts the soak anew, and the deadline. Time that nobody watched is not
//     counted.
//  4. Health is that of a ring at its train. What is of another train, or missing, says nothing
//     (G8).
//  5. A ring without a record takes nothing (G9).
//  6. A member that no ring selects belongs to the last ring, and one that several select to the
//     last of these. Lint reports both.
//  7. An agent follows its hub (Follow): its log holds the revision of each of its groups, and what
//     nobody announces stays.
//  8. Advance is deterministic, and the same facts at the same time change nothing more.
package rollout
