package verify

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Live is a live Application, or one that ApplicationSets create.
type Live struct {
	Tree manifest.Tree
	// Pos is its place in the file that it was read from.
	Pos problem.Pos
}

// ReadApplications reads the Applications of a file: one, several documents, or a list, as kubectl
// get applications -o yaml writes it. Other objects are left out.
func ReadApplications(f *snapshot.File) ([]Live, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	docs, err := manifest.Documents(f)
	if err != nil {
		return nil, err
	}
	var out []Live
	add := func(n *yamldoc.Node, pos problem.Pos) {
		tree, _ := n.Any().(manifest.Tree)
		if manifest.Text(tree, "kind") == "Application" {
			out = append(out, Live{tree, pos})
		}
	}
	for _, doc := range docs {
		items := doc.Root.Get("items")
		if items == nil {
			add(doc.Root, doc.Pos(doc.Root))
			continue
		}
		for _, item := range items.Items() {
			add(item, doc.Pos(item))
		}
	}
	seen := map[string]problem.Pos{}
	for _, l := range out {
		name := manifest.Text(l.Tree, "metadata", "namespace") + "/" + manifest.Text(l.Tree, "metadata", "name")
		if first, twice := seen[name]; twice {
			return nil, fmt.Errorf("%s: Application %q is there twice, first at %s", l.Pos, name, first)
		}
		seen[name] = l.Pos
	}
	return out, nil
}
