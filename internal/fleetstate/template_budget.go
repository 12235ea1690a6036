package fleetstate

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/memo"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// maxRendered bounds what templates write for one member, in all its files and catalog entries
// together, in bytes (H10). One template's limits do not bound the sum: files are many and small,
// and each of a tenant's members executes all of them.
const maxRendered = memo.MaxRendered

// overBudget is the problem of a member whose templates have written too much, at the component by
// which they did.
func (c *Cluster) overBudget(group, component string, written int) []problem.Problem {
	return c.Attribute([]problem.Problem{{
		Reason: problem.LimitExceeded, Severity: problem.Error, Pos: c.Member.Pos,
		Subject:  fmt.Sprintf("templates of member %q", c.Member.Name),
		Found:    fmt.Sprintf("write %d bytes up to component %q of group %q", written, component, group),
		Expected: fmt.Sprintf("at most %d bytes for a member", maxRendered),
	}})
}

// rendered is what templates have written for layers, in bytes.
func rendered(layers []hierarchy.Layer) (size int) {
	for _, l := range layers {
		size += l.Rendered
	}
	return size
}

// textSize is the size of a value's strings.
func textSize(n *yamldoc.Node) int {
	size := 0
	if n.Kind == yamldoc.String {
		size = len(n.Text)
	}
	for _, f := range n.Fields {
		size += textSize(f.Value)
	}
	for _, item := range n.Items {
		size += textSize(item)
	}
	return size
}
