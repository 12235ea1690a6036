// Package fleet reads the layout, the versions and the member files of a repository. The result, a
// Fleet, says which members every hub has, where the files of each are, and which removals have
// been approved. A member is one file:
//
//	# fleet/fleet-members/hub-a/bank-dev.yaml
//	clusterName: bank-dev
//	tenant: bank
//	environment: dev
//	labels:
//	  addonsRelease: canary
//
// Callers may rely on the following:
//
//  1. fleet/layout.yaml says where files are. What it leaves out is as in default_layout.yaml. Load
//     parses and tries its templates, so an accepted layout cannot fail for its form later.
//  2. A member file's path gives the names of the hub and the cluster, and the file must agree. The
//     layout may declare a hub instead, with the keys of its member file.
//  3. Names are DNS-1123 labels that do not collide with the hierarchy's own folders (H8).
//  4. An invalid member file is only that member's problem: the member stays in the fleet, with its
//     problems.
//  5. Two files that claim one cluster or one hub are a problem of that hub, which gets no
//     responses. An invalid layout or versions file is a problem of the whole repository.
//  6. The text of a path template, not a dry run, decides what the path depends on: whether all
//     clusters share it, and whether it belongs to a tenant.
package fleet
