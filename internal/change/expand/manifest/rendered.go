package manifest

import "sync"

// Manifest is an object that a chart or a kustomization made.
type Manifest struct {
	// Template is the file, relative to the chart.
	Template string
	Tree     Tree
	// Size is the size of its text in bytes, or zero if other renderings of the chart share it.
	Size   int
	Digest func() string
}

// New returns a manifest whose digest is computed once, when it is needed.
func New(template string, tree Tree, size int) Manifest {
	return Manifest{Template: template, Tree: tree, Size: size, Digest: sync.OnceValue(func() string { return Digest(tree) })}
}
