// Package hierarchy turns levels into layers, and layers into one tree that knows where every value
// comes from.
//
//	levels (templates of folders)
//	  --Dirs-->    folders of one cluster
//	  --Resolve--> layers (files)
//	  --Merge-->   Tree
//
// For the cluster bank-dev, these two files give {replicas: 3, image: {tag: v2}}:
//
//	# addons/defaults/addons/external-dns/values.yaml
//	{replicas: 1, image: {tag: v2}}
//	# addons/tenants/bank/clusters/bank-dev/addons/external-dns/values.yaml
//	{replicas: 3}
//
// Callers may rely on the following:
//
//  1. Layers apply least specific first; the later layer wins (H1). A folder that several levels of
//     a cluster name is merged once, as the most specific of them.
//  2. Merging is Helm's: maps merge deeply, scalars and lists replace, null removes and stays null
//     (H2). A map against a non-map follows Helm in the result and is reported as type-conflict
//     (H3).
//  3. Rules choose another strategy by path: for lists, or for maps that replace each other (H4).
//  4. A file named *.gotmpl is a Go template over the facts; plain files are never templates (H5).
//     Results that take long are remembered for the same facts, errors included.
//  5. A missing layer stays in the list as missing. It is a problem only if its level is required
//     (H6).
//  6. Every value of a Tree knows its place, and what it replaced (H7). Values are shared with the
//     documents they were read from. Merging the layers once more, on demand, finds what they
//     replaced.
//  7. Nothing is changed in place: documents, layers and trees may be shared by any number of trees
//     and goroutines.
//
// The package knows neither HTTP nor Kubernetes nor Git.
package hierarchy
