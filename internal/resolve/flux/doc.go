// Package flux writes what an engine must run as Flux's objects, and packs them as the OCI artifact
// that Flux pulls.
//
//	Owned -> Render -> files (YAML) -> Pack -> artifact (manifest, configuration, one layer)
//
// The component external-dns on the cluster bank-dev becomes one file:
//
//	components/external-dns-bank-dev.yaml   a ConfigMap with its values, a source if the chart
//	                                        needs its own, and the HelmRelease
//
// It is pure: it knows neither HTTP nor Kubernetes clients nor Flux's modules. Callers may rely on
// the following:
//
//  1. Each component has a HelmRelease, or a Kustomization if it is manifests, with the
//     Application's name (N1), so that one owner may follow another. Only HelmRepositories are
//     shared.
//  2. Values are a text in a ConfigMap, not in spec.values, where kustomize-controller drops a null
//     (fluxcd/kustomize-controller#372). As valuesFrom they are read as Helm reads `-f` (H2). The
//     key contains the values' digest, so that a chart's version and its values change in one step.
//  3. An object that is missing from an artifact stays on the cluster: objects say that they must
//     not be pruned (D1). A removal (Owned.Removals) first allows pruning, and is left out once the
//     cluster shows that (D3). An object that another owner takes over is suspended as well (D4).
//     If Flux cannot express a removal, the object is left out, and stays. A failed installation or
//     upgrade is retried and never uninstalled: another owner may have run it before (D4).
//  4. Same input, same bytes (G6). The artifact does not contain the revision: its digest changes
//     only when what runs changes. Each HelmRelease, Kustomization and source carries the digest of
//     what decides what it deploys, so that a ring's gate knows what Flux has reconciled (G8).
//  5. What Flux cannot express is a problem at the place of its cause. If it concerns the engine's
//     own cluster, there is no artifact (G1). Another cluster is left out, so that no tenant stops
//     others (W1): its objects stay, except for removals that have begun. So is a cluster with an
//     object that an API server would refuse, or with a kind and name that another object has. Of
//     two such objects, the one stays whose name is not only a tenant's.
//  6. Flux's variable substitution does not touch the objects: `${...}` in values is the chart's.
//     Manifests may use the facts of their cluster as variables if their entry says so.
//  7. A hub that runs Flux also gets a HelmRelease of charts/fleet-secret for each member
//     (Owned.Registrations): it brings the kubeconfigs that the others name. A member with its own
//     Flux gets charts/agent-flux and its credentials. A GitRepository names the Secret that Argo
//     CD would choose: the repository's own, else the Secret with the longest URL above it. A hub
//     reads for each member only with that member's credentials.
//  8. A team's application is applied as the ServiceAccount team-<team> beside Flux, never as Flux
//     itself (T4). The artifact makes the account; charts/team gives it rights, and the namespaces.
//     The team's component is removed after its applications on the cluster (D3).
package flux
