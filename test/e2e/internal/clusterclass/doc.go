// Package clusterclass runs what makes clusters on a hub: kro and Crossplane, as released, with a
// stand-in for their providers, since no cloud is here.
//
//  1. kro has the administrator's rights.
//  2. ProviderStandIn takes the place of ACK's controller for EKS, or of Crossplane's
//     provider-aws-eks, and of EKS itself: it holds a cloud in memory, makes in it what the objects
//     ask for, and writes their status. It refuses what EKS refuses: nodes ahead of their control
//     plane, and the deletion of a control plane with nodes.
//  3. ack.yaml defines the kinds of ACK that charts/cluster-kro names, with the fields that the
//     chart uses: no Go module has ACK's own definitions.
//  4. The stand-in forgets nothing when it is stopped, as a cloud does.
//  5. Crossplane's core has the administrator's rights and its webhooks, and listens on all
//     addresses: run it in a network of its own. It installs the package of
//     function-patch-and-transform, made of the module's own files. The function runs beside it, by
//     TLS on both sides: Crossplane would make a Deployment of an image.
//  6. upjet.yaml defines the kinds of provider-aws-eks that charts/cluster-crossplane names, with
//     the names and the required fields of the provider's own definitions.
package clusterclass
