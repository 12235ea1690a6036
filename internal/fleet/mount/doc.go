// Package mount limits what the repositories that a layout joins (mounts) may write in a fleet.
//
//	NewTable   what the fleet repository lets each mount of the layout write
//	Scope.Read which files of a mount's commit are joined, and which break a limit
//	Table.Of   the mounts whose levels a member reads
//
// With this layout, a file of the team checkout's repository is a level's file of the fleet:
//
//	mounts:                       # in fleet/layout.yaml
//	  mounts/checkout: {url: https://git.example.com/checkout/deploy, team: checkout}
//
// Everything is a function of the fleet repository's files and of the mount's. Callers may rely on
// the following:
//
//  1. A mount's files are values files and catalogs of the levels below its root. Other files are
//     not joined. Another file in a level's folder is a problem. So is one where the fleet
//     repository has a file of its own.
//  2. A component of the group workloads is a mount's if the layout's catalogs give it to the
//     mount's team. A folder that names a tenant names the team's.
//  3. A catalog entry of a mount has only the keys of a list. The team must claim the namespace and
//     may deploy from the chart's repository; neither is a template.
//  4. A member reads a mount if the team reaches it and a hub with Argo CD deploys the group: there
//     the team's project limits what a chart brings.
//  5. A mount with any problem is joined as it was before. Keep finds which of its files are still
//     within the limits.
package mount
