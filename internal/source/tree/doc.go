// Package tree follows the symbolic links of a repository, in the same way for a folder and for a
// commit. Rules 4 and 5 of package source say which files and links a snapshot has.
//
//	t := tree.New("folder \"fleet\"", limits, 2)
//	t.Add(&tree.Node{Path: "clusters/a.yaml"})
//	t.Add(&tree.Node{Path: "clusters/b.yaml", Target: "a.yaml"})
//	files, broken, err := t.Place() // clusters/a.yaml, and clusters/b.yaml with its content
package tree
