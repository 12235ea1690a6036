// Package provision reads what a member file says of its own cluster, and judges it.
//
//	Read       the key provision of a member file, with every problem at its place
//	Catalogs   what of the group's catalogs concerns the member
//	Values     what the charts of its class get, as the most specific layer
//	Unoffered  a version that the class does not offer
//	Change     what may not change under a running cluster
//
// Everything is a function of its arguments.
//
//  1. A class is a component of the group provisioning. A member has the class that its file names
//     and no other; a class may have a second component for the nodes, <class>-nodes.
//  2. The hub owns the group, whatever engine the member has: the cluster is not there yet (C1).
//  3. Nodes are never ahead of the control plane, and at most three minor versions behind. The
//     control plane goes one minor version at a time, and never back. Nodes follow when the control
//     plane is healthy on its version, by dependsOn (C2).
//  4. Infrastructure stays unless the member file says delete, the member is retired, an approval
//     names it, and nothing else of the member is left (C3).
//  5. What breaks a rule is an error of the member: the service keeps what is.
package provision
