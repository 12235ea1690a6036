// Package order holds parameter sets back until what they depend on is healthy.
//
//	Order.Compose(state, query, desired) -> the response in which what waits stays as it was
//	Order.Given(state, query, response)  what Argo CD has got, so that it can stay
//	Order.Waits(state)                   what waits, and for what
//
// A catalog entry names its dependencies (dependsOn). Argo CD knows no order between Applications.
// Its rules:
//
//  1. A component waits while one of its dependencies, on the same cluster and of the same engine,
//     is not healthy at the digest of the parameter set that the repository asks for (P1). A
//     dependency that the engine does not deploy there is not waited for, but for one that the
//     hub's component has on an agent that reports.
//  2. A component that waits and has no Application is left out. One with an Application stays as
//     it was: the set with the digest that its Application has. What stays survives a restart, and
//     replicas share it. If nobody knows that set any more, the order of this one Application is
//     given up, and logged: one cluster never holds up the response for the others.
//  3. A component that is removed together with its workloads stays until the components that
//     depend on it, and are removed as well, have no Application any more (P2).
//  4. An Application without a digest, of a template that writes none, counts by its health alone.
//  5. Where the facts do not know which Applications are healthy, nothing waits. What was healthy
//     and is not known to be any more holds; nothing is removed because of it.
//  6. What a dependency is to be comes from the response to its own ApplicationSet: by the queries
//     that ApplicationSets have, else by the queries of other requesters. While nobody queries it,
//     its dependents wait.
//  7. The operator that brings an agent's credentials is removed when the agent's Application has
//     let go of them: it is healthy at the digest of its parameter set, or gone (P2).
//  8. A response is composed once for a state and a query: the same bytes again and again.
package order
