// Package manifest reads Kubernetes objects as trees: from files, and from the output of charts.
//
//	docs, err := manifest.Objects(file)
//	tree := docs[0].Root.Any().(manifest.Tree)
//	manifest.Text(tree, "metadata", "name") // "dns"
package manifest
