package inventory

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Replaced are the labels and annotations of a member's live cluster Secret that responses have
// otherwise.
func Replaced(c *fleetstate.Cluster) []labels.Replacement {
	return slices.Concat(c.Labels.Replaced, c.Annotations.Replaced)
}

// ClusterReplacement is a label or annotation of a member that is replaced.
type ClusterReplacement struct {
	Cluster string
	labels.Replacement
}

// AllReplaced has what of a hub's live cluster Secrets responses have otherwise, by cluster. An
// empty hub means all.
func AllReplaced(st *fleetstate.State, hub string) []ClusterReplacement {
	var out []ClusterReplacement
	for m, c := range st.Clusters() {
		if hub != "" && hub != m.Hub || c.IsRetired() {
			continue
		}
		for _, r := range Replaced(c) {
			out = append(out, ClusterReplacement{m.Name, r})
		}
	}
	slices.SortStableFunc(out, func(a, b ClusterReplacement) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}
