// Package clusterclass runs what makes clusters on a hub: kro's controller, as released, and a
// stand-in for the provider, since no cloud is here.
//
//  1. kro has the administrator's rights.
//  2. ProviderStandIn takes the place of ACK's controller for EKS and of EKS itself: it holds a
//     cloud in memory, makes in it what the objects ask for, and writes their status. It refuses
//     what EKS refuses: nodes ahead of their control plane, and the deletion of a control plane
//     with nodes.
//  3. The kinds of ACK are those that charts/cluster-kro names, with the fields that it uses
//     (ack.yaml): ACK's own definitions are in no Go module that can be had.
//  4. The stand-in forgets nothing when it is stopped, as a cloud does.
package clusterclass
