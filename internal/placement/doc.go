// Package placement says where a cluster's files are, and which labels it has.
//
//	New(fleet, mounts, member, facts)  the levels' folders of every group
//	Labels(fleet, member, facts, ...)  labels and annotations, from all that declare them (L1 to L3)
//
// Folders depend on the layout, the member file, the hub's and the facts alone: they outlive
// changes of other files. The labels that the hierarchy declares are in files of these folders, so
// that no folder depends on them.
package placement
