// Package flux writes what an engine is to run as Flux's objects, and packs them as the OCI
// artifact that Flux pulls.
//
//	Owned -> Render -> files (YAML) -> Pack -> artifact (manifest, configuration, one layer)
//
// Its rules:
//
//  1. A HelmRelease for each component, called by the Application's name (N1), so that one owner
//     may follow another. What the component's chart needs beside it is called the same: only
//     HelmRepositories are shared. A component that is manifests has a Kustomization instead, by
//     the same rules.
//  2. Values travel as a text in a ConfigMap, not in spec.values, where kustomize-controller drops
//     a null (fluxcd/kustomize-controller#372). As valuesFrom they are read as Helm reads `-f`
//     (H2). The key's name has the values' digest, so that a chart's version and its values change
//     in one step.
//  3. Nothing is removed that has not said so: each object says that it is not to be pruned (D1),
//     so an artifact that lacks a component leaves what runs untouched. What is to go
//     (Owned.Removals) says that it may be pruned, and is left out when that has been seen on the
//     cluster (D3). What another owner takes over is suspended besides (D4).
//  4. A failed installation or upgrade is tried again as it is. It is not remediated by
//     uninstalling: what is being installed may have run before under another owner (D4).
//  5. Flux's variable substitution does not touch the objects: `${...}` in values is the chart's.
//     Manifests have the facts of their cluster for variables if their entry says so.
//  6. Same input, same bytes (G6). The revision is nowhere in the artifact: an artifact's digest
//     changes when what runs changes, and only then.
//  7. What Flux cannot express is a problem with the place of its cause. Of the engine's own
//     cluster, there is no artifact then (G1). Another cluster is left out, so that no tenant stops
//     others (W1): its objects stay as they are (rule 3), but for removals that have begun. So is
//     one with an object that an API server would refuse, or of a kind and name that another object
//     has: kustomize-controller would apply nothing. Of two such objects the one stays whose name
//     no tenant alone has given.
//  8. Unless it is to go: then it is left out, and stays.
//  9. A hub that runs Flux gets a HelmRelease of charts/fleet-secret for each member besides
//     (Owned.Registrations), on the hub itself: it brings the kubeconfigs that the others name.
//     A member with a Flux of its own gets charts/agent-flux and its credentials (component agent).
//  10. A GitRepository names the Secret with its credentials that is beside the engine
//     (charts/fleet-secret), chosen as Argo CD chooses: the repository's own, else the one with
//     the longest URL above it. A hub reads for each member with that member's credentials, and
//     with no other's.
//  11. A team's application is applied as the ServiceAccount team-<team> beside Flux, never as Flux
//     itself (T4). The artifact makes the account; charts/team gives it rights, and the namespaces.
//     The team's component is removed when its applications on the cluster are gone (D3).
//  12. A HelmRelease or Kustomization carries the digest of all that decides what it
//     deploys, as argosy.dev/digest and as the request for a reconciliation, which Flux
//     notes when it has carried it out. A source carries its own. So a ring's gate
//     knows what Flux has looked at (G8).
//
// It is pure: it knows neither HTTP nor Kubernetes clients nor Flux's modules.
package flux
