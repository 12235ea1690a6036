// Package provision reads what a member file says of its own cluster, and checks it.
//
//	Read       the key provision of a member file, with every problem at its place
//	Catalogs   the member's part of the group's catalogs
//	Values     the values of the charts of its class, as the most specific layer
//	Unoffered  a version that the class does not offer
//	Change     what may not change under a running cluster
//
// A member file has these keys for its cluster:
//
//	provision:
//	  class: eks-small
//	  version: "1.33"
//	  region: eu-central-1
//
// Everything is a function of its arguments. Callers may rely on the following:
//
//  1. A class is a component of the group provisioning. A member has only the class that its file
//     names; a class may have a second component for the nodes, <class>-nodes.
//  2. The hub owns the group, whatever engine the member has: the cluster is not there yet.
//  3. Nodes are never ahead of the control plane, and at most three minor versions behind. The
//     control plane goes one minor version at a time, and never back. Nodes follow when the control
//     plane is healthy on its version, by dependsOn (C2).
//  4. Infrastructure stays unless the member file says delete, the member is retired, an approval
//     names it, and nothing else of the member is left (C3).
//  5. Breaking one of these rules is an error of the member: the service keeps the cluster as it
//     is.
package provision
