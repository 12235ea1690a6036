// Package rings answers the members of a rollout's rings from their rings' revisions.
//
//	Rings.Respond(state, query) -> the response in which later rings keep their bytes
//	Rings.Run                            looks at health, moves rings, writes their records
//	Rings.Report                         what each ring has and waits for
//
// internal/fleet/rollout decides; this package brings it the facts and carries out what it says.
// Its rules:
//
//  1. Without a policy a response is what it was, and nothing is computed or stored.
//  2. A parameter set in a policy's scope comes whole from the response of its ring's revision,
//     computed with the facts of now (G7). All other sets come from the newest state.
//  3. A ring is healthy by the Applications that the composed responses name: each has the digest
//     that it is answered, and the engine has looked at it since (G8). The service must know all
//     queries of ApplicationSets. Where it does not, no ring moves. A query without a response says
//     nothing of the policies that cover what it asks for, and of no other. What an engine says of
//     a member whose API server is silent does not count: the engine repeats what it saw last.
//  4. The records of a policy are one document, replaced by compare-and-swap. Before it has been
//     read, there is no response in the policy's scope. A process that has not taken in all of it
//     writes nothing. It names the last known good snapshots of its revisions, too.
//  5. A policy without records begins at the revision that was served before it. At a start, it
//     begins at the newest, if all Applications of the scope are what the newest answers; otherwise
//     there is no response in its scope until a pin (G9).
//  6. The service of an agent follows its hub: each group has the revision that its grant
//     announces, and keeps what it has while none arrives or nobody has its files. What it had of a
//     group that the hub deploys is forgotten. It reports how healthy the group is at the
//     announcement, which is the hub's evidence of the agent, and what runs of each component.
//  7. What a ring's record names and nobody has any more is not answered: Argo CD then changes
//     nothing.
//  8. An engine with Flux gets one artifact. Its components follow rule 2, and its HelmReleases and
//     Kustomizations rule 3. While a policy lacks what it needs, there is no artifact: Flux keeps
//     what it has.
//  9. A member is in the ring of the file that it is served from: an error takes it nowhere else.
//  10. The record of a policy that is gone is ended, and a policy of that name begins anew. One
//     that comes under another name with the same rings goes on with its record.
package rings
