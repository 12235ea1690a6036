// Package clusterclass runs what makes clusters on a hub: kro and Crossplane, as released, with a
// stand-in for their providers, since no cloud is here.
//
//	cloud := &clusterclass.Cloud{Endpoint: ..., Token: ...}
//	provider := &clusterclass.ProviderStandIn{Cloud: cloud, Client: client, Crossplane: true}
//	crossplane, err := clusterclass.RunCrossplane(ctx, options, provider, registry, dir)
//	stop := provider.Start(ctx)
//
// Its rules:
//
//  1. kro has the administrator's rights.
//  2. ProviderStandIn takes the place of ACK's controllers, or of the packages of Crossplane's
//     provider of AWS, and Cloud that of AWS itself: it holds things in memory. The stand-in makes
//     in it what objects ask for, and writes their status. Cloud refuses what AWS refuses: nodes
//     ahead of their control plane, the deletion of what others need, and a login without a role
//     that trusts it.
//  3. ack.yaml defines the kinds of ACK that charts/cluster-kro names, with the fields that the
//     chart uses: no Go module has ACK's own definitions.
//  4. The stand-in forgets nothing when it is stopped, as a cloud does.
//  5. Crossplane is deployed by its own chart. Once a Deployment is there, its container runs as a
//     process (package container): the core after its init container, the manager of rights, and
//     the function, which Crossplane deploys itself. All have the rights of their ServiceAccounts,
//     and speak TLS with the certificates that Crossplane makes; that of the webhooks is made here,
//     since the API server calls them by address.
//  6. Packages come from a registry. The function's is made of its module's files. Those of the
//     provider define the kinds of upjet.yaml, and their Deployments make the stand-in serve them,
//     under the ServiceAccount that the Deployment names. It logs in as its ProviderConfig says: by
//     IRSA, with a token that the API server signs, or by a Secret.
package clusterclass
