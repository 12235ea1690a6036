package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// PathError says that the merged values have nothing at a path.
type PathError struct {
	Path    string
	Subject string
	Hints   []string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path %q: no such value in %s", e.Path, e.Subject)
}

// maxListed bounds how many keys a hint lists.
const maxListed = 12

func (x *explainer) pathError(path []string) error {
	out := &PathError{Path: hierarchy.FormatPath(path), Subject: fmt.Sprintf("%s/%s of cluster %q", x.Group, x.Component, x.member.Name)}
	i := 0
	for i < len(path) && x.tree.At(path[:i+1]) != nil {
		i++
	}
	parent := x.tree.At(path[:i])
	switch {
	case parent == nil || parent.IsNull() && i == 0 || parent.IsMap() && len(parent.Fields()) == 0 && i == 0:
		out.Hints = []string{"no level sets any value; the chart's own values.yaml is not part of the fleet"}
		return out
	case parent.Kind == yamldoc.List:
		out.Hints = []string{fmt.Sprintf("%q is a list of %d", hierarchy.FormatPath(path[:i]), len(parent.Items()))}
		return out
	case !parent.IsMap():
		out.Hints = []string{fmt.Sprintf("%q is a %s", hierarchy.FormatPath(path[:i]), parent.Kind)}
		return out
	}
	keys := make([]string, 0, len(parent.Fields()))
	for _, f := range parent.Fields() {
		keys = append(keys, f.Key)
	}
	if best := nearest(path[i], keys); best != "" {
		corrected := append(slices.Clone(path[:i]), best)
		if whole := append(slices.Clone(corrected), path[i+1:]...); x.tree.At(whole) != nil {
			corrected = whole
		}
		out.Hints = []string{fmt.Sprintf("did you mean %q?", hierarchy.FormatPath(corrected))}
		return out
	}
	if elsewhere := endingIn(x.tree, path); elsewhere != nil {
		out.Hints = []string{fmt.Sprintf("did you mean %q?", hierarchy.FormatPath(elsewhere))}
		return out
	}
	more := ""
	if len(keys) > maxListed {
		more = fmt.Sprintf(" and %d more", len(keys)-maxListed)
		keys = keys[:maxListed]
	}
	where := "at the top there are"
	if i > 0 {
		where = fmt.Sprintf("below %q there are", hierarchy.FormatPath(path[:i]))
	}
	out.Hints = []string{where + " " + strings.Join(keys, ", ") + more, "what no level sets is the chart's own default"}
	return out
}

// nearest returns the known name that problem.Nearest would suggest.
func nearest(unknown string, known []string) string {
	for _, hint := range problem.Nearest(unknown, known) {
		for _, k := range known {
			if hint == fmt.Sprintf("did you mean %q?", k) {
				return k
			}
		}
	}
	return ""
}

// endingIn returns the first path of the tree that ends in the given one, nil if there is none.
func endingIn(t *hierarchy.Tree, path []string) []string {
	var found []string
	var walk func(n *yamldoc.Node, at []string) bool
	walk = func(n *yamldoc.Node, at []string) bool {
		if len(at) > len(path) && slices.Equal(at[len(at)-len(path):], path) {
			found = at
			return true
		}
		for _, f := range n.Fields() {
			if walk(f.Value, append(slices.Clone(at), f.Key)) {
				return true
			}
		}
		for i, item := range n.Items() {
			if walk(item, append(slices.Clone(at), strconv.Itoa(i))) {
				return true
			}
		}
		return false
	}
	walk(t.Root, nil)
	return found
}
