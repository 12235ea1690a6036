// Package clusterclass runs what makes clusters on a hub: Cluster API, and kro with a
// stand-in for its provider, since no cloud is here. Both are as released.
//
//  1. kro has the administrator's rights.
//  2. ProviderStandIn takes the place of ACK's controller for EKS and of EKS itself: it holds a
//     cloud in memory, makes in it what the objects ask for, and writes their status. It refuses
//     what EKS refuses: nodes ahead of their control plane, and the deletion of a control plane
//     with nodes.
//  3. ack.yaml defines the kinds of ACK that charts/cluster-kro names, with the fields that the
//     chart uses: no Go module has ACK's own definitions.
//  4. The stand-in forgets nothing when it is stopped, as a cloud does.
//  5. Cluster API runs with its own providers: kubeadm's of control planes and nodes, and that of
//     infrastructure with machines in memory, whose API servers are in memory as well. Its webhooks
//     are called as on a cluster. They listen on all addresses: run it in a network of its own.
package clusterclass
