// Package rollout decides which revision each ring of a fleet is served from.
//
//	Parse(file) -> Policy                                  fleet/rollouts/<name>.yaml
//	Policy.RingOf(member) -> ring                          which ring a member belongs to
//	Advance(policy, log, facts, now) -> log, waits         the state machine
//	Coverage(policies, members) -> problems                what lint reports
//
// It is pure: it knows no State, no store, no engine and no clock. A policy is a file:
//
//	# fleet/rollouts/prod.yaml
//	kind: Rollout
//	rings:
//	  - {name: canary, selector: {matchLabels: {ring: canary}}, soak: 1h}
//	  - {name: rest, selector: {}}
//
// Callers may rely on the following:
//
//  1. A train is an accepted revision with a number. The first ring takes the newest train, each
//     other ring the newest train that passed the ring before it. No ring takes an older train,
//     except by a pin, or by `onFailure: back`. Without a pin, a ring that went back
//     takes only newer trains. Later rings do not take a train from which a pin put it back.
//  2. A ring takes a train only when it is free: its own train passed or failed. So trains
//     coalesce, and no ring starves.
//  3. A train passes when the ring is healthy for the soak without a break. Any break, also one
//     between two looks, starts the soak and the deadline again. Time without a look is not
//     counted.
//  4. A ring's health is its health at its own train. Health at another train is ignored (G8).
//  5. A ring without a record takes nothing (G9).
//  6. A member that no ring selects belongs to the last ring. If several rings select it, it
//     belongs to the last of them. Lint reports both.
//  7. An agent follows its hub (Follow): its log holds the revision of each of its groups. A
//     revision stays until the hub announces another.
//  8. Advance is deterministic, and the same facts at the same time change nothing more.
package rollout
