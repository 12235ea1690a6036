// Package mount bounds what other repositories may say of a fleet (U3).
//
//	NewTable   what the fleet repository lets each mount of the layout write
//	Scope.Read which files of a mount's commit are joined, and what leaves the bounds
//	Table.Of   the mounts whose levels a member reads
//
// Everything is a function of the fleet repository's files and of the mount's.
//
//  1. A mount's files are values files and catalogs of the levels below its root. Other files are
//     not joined. A file in a level's folder that is neither, or in a place where the fleet
//     repository has a file of its own, is a problem.
//  2. A component of the group workloads is a mount's if the layout's catalogs give it to the
//     mount's team. A folder that names a tenant names the team's.
//  3. A catalog entry of a mount has keys of a list. The namespace is one that the team claims, and
//     the chart's repository one that it may deploy from, both without templates.
//  4. A member reads a mount if the team reaches it and a hub with Argo CD deploys the group: there
//     the team's project bounds what a chart brings.
//  5. A mount with any problem is joined as it was. Keep finds what of that is still within
//     the bounds.
package mount
