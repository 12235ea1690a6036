package lifecycle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Item is something of a member: an engine has it, or a response contains it. Unknown fields are
// empty.
type Item struct {
	// Name is the Application's.
	Name, Cluster, Group, Component, Release string
	// IsRemoval reports that a response contains it only for its deletion (D3).
	IsRemoval bool
}

// Diff returns what a requester loses: what of its baseline its responses leave out, or contain
// only for its deletion. The first response is the one to the query; the others are those to the
// requester's other queries. The removals are sorted by cluster, group and component.
func Diff(st *fleetstate.State, q query.Query, baseline []Item, responses ...[]Item) []Removal {
	lost := Missing(q.View, baseline, responses...)
	if len(responses) > 0 {
		for _, i := range responses[0] {
			if i.IsRemoval {
				lost = append(lost, i)
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	reason := reasons(st, q)
	out := make([]Removal, len(lost))
	for n, i := range lost {
		out[n] = reason(i)
		out[n].Cluster, out[n].Group, out[n].Component = i.Cluster, cmp.Or(i.Group, q.Group), cmp.Or(i.Component, q.Component)
	}
	slices.SortFunc(out, func(a, b Removal) int {
		return cmp.Or(
			strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Group, b.Group), strings.Compare(a.Component, b.Component))
	})
	return out
}

// Missing returns what of a baseline the responses of a view do not contain.
func Missing(v query.View, baseline []Item, responses ...[]Item) []Item {
	if slices.ContainsFunc(responses, func(items []Item) bool { return slices.Equal(items, baseline) }) {
		return nil // nearly always
	}
	var c contents
	for _, items := range responses {
		c.add(items)
	}
	var out, unidentified []Item
	for _, i := range baseline {
		switch there, identified := c.have(v, i); {
		case there:
		case identified:
			out = append(out, i)
		default:
			unidentified = append(unidentified, i)
		}
	}
	if len(unidentified) == 0 {
		return out
	}
	others := notIn(baseline, responses)
	for _, i := range unidentified {
		if others[i.Cluster] > 0 {
			others[i.Cluster]--
		} else {
			out = append(out, i)
		}
	}
	return out
}

// notIn counts by cluster the items of responses that no name and no labels of a baseline tell.
func notIn(baseline []Item, responses [][]Item) map[string]int {
	var had contents
	had.add(baseline)
	out, counted := map[string]int{}, map[Item]bool{}
	for _, i := range slices.Concat(responses...) {
		if !counted[i] && !had.names[i.Name] && !had.components[[3]string{i.Cluster, i.Group, i.Component}] {
			counted[i] = true
			out[i.Cluster]++
		}
	}
	return out
}

// contents are the items of responses, by each name that a baseline may give them.
type contents struct {
	names, releases map[string]bool
	components      map[[3]string]bool
}

func (c *contents) add(items []Item) {
	if c.names == nil {
		c.names, c.releases = map[string]bool{}, map[string]bool{}
		c.components = map[[3]string]bool{}
	}
	for _, i := range items {
		c.releases[i.Release] = true
		c.components[[3]string{i.Cluster, i.Group, i.Component}] = true
		if i.Name != "" {
			c.names[i.Name] = true
		}
	}
}

// have reports whether the responses still contain an item, and whether its name or its labels
// tell. A user's own template may name Applications otherwise: those count by their labels, and
// without labels as any of their cluster.
func (c *contents) have(v query.View, i Item) (there, identified bool) {
	switch {
	case v == query.Releases:
		return c.releases[i.Release], true
	case i.Name != "" && c.names[i.Name]:
		return true, true
	case i.Group != "" && (i.Component != "" || v == query.Grants):
		return c.components[[3]string{i.Cluster, i.Group, i.Component}], true
	}
	return false, false
}

// reasons returns a function that finds why an item is removed.
func reasons(st *fleetstate.State, q query.Query) func(Item) Removal {
	unknown := Removal{Reason: Lost, Deletion: fleet.Orphan}
	if q.View != query.Releases {
		d, err := RemovalsOf(st, q)
		if err != nil { // an invalid query has no reasons
			return func(Item) Removal { return unknown }
		}
		return func(i Item) Removal { return d.Of(i.Cluster, cmp.Or(q.Component, i.Component)) }
	}
	// A release is removed because its clusters are, or move.
	byRelease := map[string]*Removals{}
	return func(i Item) Removal {
		d, known := byRelease[i.Release]
		if !known {
			d, _ = RemovalsOf(st, query.Query{
				View: query.Components, Hub: q.Hub, Group: q.Group, Owner: q.Owner, Selector: q.Selector, Release: i.Release,
			})
			byRelease[i.Release] = d
		}
		if d == nil {
			return unknown
		}
		return d.Of(i.Cluster, i.Component)
	}
}
