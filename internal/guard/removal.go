package guard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// Removal is something of a member that a response leaves out, or keeps only to delete it.
type Removal struct {
	Cluster   string `json:"cluster"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	// Cause is disabled, lost or, of what is approved, retired.
	Cause lifecycle.Reason `json:"cause"`
	// Deletion says whether the workloads are deleted (cascade) or stay (orphan).
	Deletion string `json:"deletion"`
	// Detail explains the cause, and Position is its place.
	Detail   string      `json:"detail,omitempty"`
	Position problem.Pos `json:"position,omitzero"`
}

// String is a removal in one line.
func (r Removal) String() string {
	out := r.Cluster
	if r.Component != "" {
		out += " " + r.Group + "/" + r.Component
	}
	out += ": " + string(r.Cause)
	if r.Detail != "" {
		out += ", " + r.Detail
	}
	if !r.Position.IsZero() {
		out += " (" + r.Position.String() + ")"
	}
	return out
}

// comparison compares a baseline with a response.
type comparison struct {
	st       *fleetstate.State
	query    query.Query
	now      time.Time
	baseline []item
	// responses are what the responses to all queries of the requester are about; the first is the
	// one that is judged.
	responses [][]response.Subject
	// spent is what earlier responses have lost within the window.
	spent []spent
	// hubMembers returns all clusters of the hub that have anything, nil where that is unknown.
	hubMembers func() map[string]bool
}

// removals are the result of a comparison.
type removals struct {
	// members is how many the baseline has, losing how many of them lose something without
	// approval, and allowed how many may.
	members, losing, allowed int
	// lostBefore are those of losing that lose nothing now, but have within the window.
	lostBefore int
	// gone is how many members of the hub have lost their file without approval, of how many, and
	// how many may. They are counted if the response loses one of them.
	gone, hubMembers, mayGo int
	// unapproved and approved are sorted by cluster, group and component.
	unapproved, approved []Removal
	// moves are what another owner or release answers for from now on.
	moves []move
	// until is when the first approval that counts ends; zero without one.
	until time.Time
}

// areOverBudget reports whether the response loses more than the budget allows.
func (f removals) areOverBudget() bool { return f.losing > f.allowed || f.gone > f.mayGo }

// removals finds what the response loses (rule 3).
func (c comparison) removals() removals {
	lost := c.lost()
	if len(lost) == 0 {
		return removals{}
	}
	members := map[string]bool{}
	stillSpent := c.stillSpent()
	for _, x := range stillSpent {
		members[x.cluster] = true
	}
	for _, x := range slices.Concat(c.baseline, lost) {
		members[x.cluster] = true
	}
	out := removals{members: len(members), allowed: c.st.Fleet.Layout.Guard.MaxRemovals.Of(len(members))}
	losing := map[string]bool{}
	reason := c.reasons()
	for _, x := range lost {
		d := reason(x)
		r := Removal{
			x.cluster, cmp.Or(x.group, c.query.Group), cmp.Or(x.component, c.query.Component),
			d.Reason, d.Deletion, d.Detail, d.Pos,
		}
		switch d.Reason {
		case lifecycle.Moved: // nothing is lost
			out.moves = append(out.moves, move{x.cluster, r.Group, r.Component, d.To})
		case lifecycle.Retired:
			out.approved = append(out.approved, r)
		default:
			if ends, ok := approvedUntil(c.st.Fleet, c.query.Hub, r, c.now); ok {
				out.approved = append(out.approved, r)
				if out.until.IsZero() || ends.Before(out.until) {
					out.until = ends
				}
				continue
			}
			out.unapproved = append(out.unapproved, r)
			losing[x.cluster] = true
		}
	}
	if len(losing) > 0 {
		for _, x := range stillSpent {
			if !losing[x.cluster] {
				out.lostBefore++
			}
			losing[x.cluster] = true
		}
	}
	out.losing = len(losing)
	if slices.ContainsFunc(slices.Collect(maps.Keys(losing)), c.hasNoFile) {
		c.countGone(&out)
	}
	for _, rs := range [][]Removal{out.unapproved, out.approved} {
		slices.SortFunc(rs, func(a, b Removal) int {
			return cmp.Or(
				strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Group, b.Group), strings.Compare(a.Component, b.Component))
		})
	}
	return out
}

// hasNoFile reports whether a cluster has no member file any more, under no hub.
func (c comparison) hasNoFile(cluster string) bool { return c.st.HasLeft(c.query.Hub, cluster) }

// countGone counts the members of the hub whose files are gone (rule 5).
func (c comparison) countGone(out *removals) {
	if c.hubMembers == nil {
		return
	}
	all := c.hubMembers()
	for cluster := range all {
		if !c.hasNoFile(cluster) {
			continue
		}
		whole := Removal{Cluster: cluster, Group: fleetstate.FleetGroup, Component: fleetstate.Registration}
		if _, approved := approvedUntil(c.st.Fleet, c.query.Hub, whole, c.now); !approved {
			out.gone++
		}
	}
	out.hubMembers, out.mayGo = len(all), c.st.Fleet.Layout.Guard.MaxRemovals.Of(len(all))
}

// lost returns what the responses have only for its deletion, and what of the baseline they leave
// out.
func (c comparison) lost() []item {
	var x coverage
	for i, subjects := range c.responses {
		x.add(subjects, i == 0)
	}
	out := x.leaving
	for _, b := range c.baseline {
		if !x.covers(c.query.View, b) {
			out = append(out, b)
		}
	}
	return out
}

// coverage is what responses contain, by each name that a baseline may give it.
type coverage struct {
	names, clusters, releases map[string]bool
	components                map[[3]string]bool
	// leaving is what the judged response has only for its deletion.
	leaving []item
}

func (x *coverage) add(subjects []response.Subject, judged bool) {
	if x.names == nil {
		x.names, x.clusters, x.releases = map[string]bool{}, map[string]bool{}, map[string]bool{}
		x.components = map[[3]string]bool{}
	}
	for _, s := range subjects {
		x.clusters[s.Cluster], x.releases[s.Release] = true, true
		x.components[[3]string{s.Cluster, s.Group, s.Component}] = true
		if s.Name != "" {
			x.names[s.Name] = true
		}
		if s.IsRemoval && judged {
			x.leaving = append(x.leaving, item{s.Name, s.Cluster, s.Group, s.Component, s.Release})
		}
	}
}

// covers reports whether the responses still contain something. A user's own template may name
// Applications otherwise: those count by their labels.
func (x *coverage) covers(v query.View, i item) bool {
	switch {
	case v == query.Releases:
		return x.releases[i.release]
	case i.name != "" && x.names[i.name]:
		return true
	case i.group != "" && i.component != "":
		return x.components[[3]string{i.cluster, i.group, i.component}]
	}
	return x.clusters[i.cluster]
}

// reasons returns a function that finds why something is removed.
func (c comparison) reasons() func(item) lifecycle.Removal {
	unknown := lifecycle.Removal{Reason: lifecycle.Lost, Deletion: fleet.Orphan}
	if c.query.View != query.Releases {
		d, err := lifecycle.RemovalsOf(c.st, c.query)
		if err != nil { // an invalid query has no reasons
			return func(item) lifecycle.Removal { return unknown }
		}
		return func(i item) lifecycle.Removal { return d.Of(i.cluster, cmp.Or(c.query.Component, i.component)) }
	}
	// A release is removed because its clusters are, or move.
	byRelease := map[string]*lifecycle.Removals{}
	return func(i item) lifecycle.Removal {
		d, known := byRelease[i.release]
		if !known {
			d, _ = lifecycle.RemovalsOf(c.st, query.Query{
				View: query.Components, Hub: c.query.Hub, Group: c.query.Group, Owner: c.query.Owner,
				Selector: c.query.Selector, Release: i.release,
			})
			byRelease[i.release] = d
		}
		if d == nil {
			return unknown
		}
		return d.Of(i.cluster, i.component)
	}
}
