// Package controlplane runs Kubernetes control planes as plain processes of this machine.
//
//  1. One etcd serves all clusters, each under its own prefix. It writes without fsync, for nothing
//     here is kept, and asks nobody on this machine for credentials, for there are no secrets but
//     the run's own.
//  2. A cluster is kube-apiserver with RBAC, kube-controller-manager, kube-scheduler and KWOK,
//     which stands in for the kubelet: its one node is ready and runs every pod that is scheduled
//     to it, in name.
//  3. Every cluster has a certificate authority, service account keys and tokens of its own, made
//     anew at each start. Files that have secrets are 0600.
//  4. All that listens does so on 127.0.0.1; controller manager, scheduler and KWOK do not listen
//     at all.
//  5. Start returns when an object can be created and acted upon: the API server is ready, the node
//     too, and the default namespace has its service account.
//  6. A cluster at rest takes next to no processor time: there is no leader election, no lease is
//     renewed, and of the controllers those run that something here needs. Several may be started
//     at once.
package controlplane
