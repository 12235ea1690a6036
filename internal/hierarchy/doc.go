// Package hierarchy turns levels into layers and layers into one tree that knows where every value
// comes from.
//
//	levels (templates of folders) --Dirs--> folders of one cluster --Resolve--> layers (files) --Merge--> Tree
//
// Its rules:
//
//  1. Layers apply least specific first; the later wins (rule H1).
//  2. Merging is Helm's: maps merge deeply, scalars and lists replace, null removes and stays null
//     (H2). A map against a non-map follows Helm in the result and is reported as type-conflict
//     (H3).
//  3. Rules choose another strategy for lists, or for maps that are to be replaced, by path (H4).
//  4. A file named *.gotmpl is a Go template over the facts; plain files are never templated (H5).
//  5. A missing layer is kept as missing; it is a problem only if its level is required (H6).
//  6. Every value of a Tree knows its place and what it replaced (H7): values are shared with the
//     documents they were read from, and what they replaced is told by the same merge, when it is
//     asked for.
//  7. Nothing is changed in place: documents, layers and trees may be shared by any number of trees
//     and goroutines.
//
// It knows neither HTTP nor Kubernetes nor Git.
package hierarchy
