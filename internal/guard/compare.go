package guard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
)

// Loss is something that a member would lose.
type Loss struct {
	Cluster   string `json:"cluster"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	// Cause is disabled, lost or, of what is approved, retired.
	Cause generator.Cause `json:"cause"`
	// Deletion is what becomes of what runs: it goes (cascade) or stays (orphan).
	Deletion string `json:"deletion"`
	// Detail says more about the cause, and Position where it stands.
	Detail   string      `json:"detail,omitempty"`
	Position problem.Pos `json:"position,omitzero"`
}

// comparison is that of a baseline with what is answered instead.
type comparison struct {
	st       *generator.State
	r        generator.Request
	now      time.Time
	baseline []had
	// told are the subjects of the answers to all questions of the asker; the first is the one that is judged.
	told [][]generator.Subject
	// spent is what the answers before have lost a short time ago.
	spent []spent
	// everyone are all clusters of the hub that have anything, where that is known.
	everyone func() map[string]bool
}

// found is what a comparison finds.
type found struct {
	// members are those of the baseline, losing those that would lose something without approval, and allowed how many may.
	members, losing, allowed int
	// before are those of losing that have lost something by answers of the last time, which counts for so long.
	before int
	// gone are members whose files are gone without approval, of so many of the whole hub, of which so many may go. They are
	// looked for if the answer loses one of them.
	gone, everyone, mayGo int
	// unapproved and approved are sorted by cluster, then component.
	unapproved, approved []Loss
	// moves are what others answer for from now on.
	moves []move
	// until is when the first approval that counts ends; zero without one.
	until time.Time
}

// over reports whether more would be lost than the budget allows.
func (f found) over() bool { return f.losing > f.allowed || f.exodus() }

// exodus reports whether members are gone from the whole hub beyond the budget.
func (f found) exodus() bool { return f.gone > f.mayGo }

// compare finds what is lost (rule 3).
func (c comparison) compare() found {
	lost := c.lost()
	if len(lost) == 0 {
		return found{}
	}
	members := map[string]bool{}
	lasting := c.lasting()
	for _, x := range lasting {
		members[x.cluster] = true
	}
	for _, h := range slices.Concat(c.baseline, lost) {
		members[h.cluster] = true
	}
	out := found{members: len(members), allowed: c.st.Fleet.Layout.Guard.MaxRemovals.Of(len(members))}
	losing := map[string]bool{}
	why := c.reasons()
	for _, h := range lost {
		d := why(h)
		l := Loss{h.cluster, h.group, h.component, d.Cause, d.Deletion, d.Detail, d.Pos}
		if l.Group == "" {
			l.Group = c.r.Group
		}
		if l.Component == "" {
			l.Component = c.r.Component
		}
		switch d.Cause {
		case generator.Moved: // nothing is lost
			out.moves = append(out.moves, move{h.cluster, l.Group, l.Component, d.To})
		case generator.Retired:
			out.approved = append(out.approved, l)
		default:
			if ends, ok := approvedUntil(c.st.Fleet, c.r.Hub, l, c.now); ok {
				out.approved = append(out.approved, l)
				if out.until.IsZero() || ends.Before(out.until) {
					out.until = ends
				}
				continue
			}
			out.unapproved = append(out.unapproved, l)
			losing[h.cluster] = true
		}
	}
	if len(losing) > 0 {
		for _, x := range lasting {
			if !losing[x.cluster] {
				out.before++
			}
			losing[x.cluster] = true
		}
	}
	out.losing = len(losing)
	if slices.ContainsFunc(slices.Collect(maps.Keys(losing)), c.isGone) {
		c.exodus(&out)
	}
	for _, ls := range [][]Loss{out.unapproved, out.approved} {
		slices.SortFunc(ls, func(a, b Loss) int {
			return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Group, b.Group), strings.Compare(a.Component, b.Component))
		})
	}
	return out
}

// isGone reports whether a cluster has no member file any more, under no hub.
func (c comparison) isGone(cluster string) bool { return c.st.HasLeft(c.r.Hub, cluster) }

// exodus counts the members that are gone from the hub (rule 5).
func (c comparison) exodus(out *found) {
	if c.everyone == nil {
		return
	}
	everyone := c.everyone()
	for cluster := range everyone {
		if !c.isGone(cluster) {
			continue
		}
		whole := Loss{Cluster: cluster, Group: generator.FleetGroup, Component: generator.Registration}
		if _, approved := approvedUntil(c.st.Fleet, c.r.Hub, whole, c.now); !approved {
			out.gone++
		}
	}
	out.everyone, out.mayGo = len(everyone), c.st.Fleet.Layout.Guard.MaxRemovals.Of(len(everyone))
}

// lost are those of the baseline that are answered no more, and those that are answered for their removal alone.
func (c comparison) lost() []had {
	var x covered
	for i, subjects := range c.told {
		x.add(subjects, i == 0)
	}
	out := x.leaving
	for _, h := range c.baseline {
		if !x.covers(c.r.View, h) {
			out = append(out, h)
		}
	}
	return out
}

// covered is what answers make, in the ways in which a baseline may name it.
type covered struct {
	names, clusters, releases map[string]bool
	components                map[[3]string]bool
	leaving                   []had
}

func (x *covered) add(subjects []generator.Subject, judged bool) {
	if x.names == nil {
		x.names, x.clusters, x.releases, x.components = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[[3]string]bool{}
	}
	for _, s := range subjects {
		x.clusters[s.Cluster], x.releases[s.Release] = true, true
		x.components[[3]string{s.Cluster, s.Group, s.Component}] = true
		if s.Name != "" {
			x.names[s.Name] = true
		}
		if s.IsRemoval && judged {
			x.leaving = append(x.leaving, had{s.Name, s.Cluster, s.Group, s.Component, s.Release})
		}
	}
}

// covers reports whether something is answered still. The names of Applications are the template's to give: one that is
// called otherwise counts by what its labels say.
func (x *covered) covers(v generator.View, h had) bool {
	switch {
	case v == generator.Releases:
		return x.releases[h.release]
	case h.name != "" && x.names[h.name]:
		return true
	case h.group != "" && h.component != "":
		return x.components[[3]string{h.cluster, h.group, h.component}]
	}
	return x.clusters[h.cluster]
}

// reasons tells why something is lost.
func (c comparison) reasons() func(had) generator.Departure {
	gone := generator.Departure{Cause: generator.Lost, Deletion: fleet.Orphan}
	if c.r.View != generator.Releases {
		d, err := c.st.Departures(c.r)
		if err != nil { // of what cannot be asked for, nobody says why it goes
			return func(had) generator.Departure { return gone }
		}
		return func(h had) generator.Departure {
			if c.r.Component != "" {
				return d.Why(h.cluster, c.r.Component)
			}
			return d.Why(h.cluster, h.component)
		}
	}
	// A release goes because its clusters do, or move.
	of := map[string]*generator.Departures{}
	return func(h had) generator.Departure {
		d, known := of[h.release]
		if !known {
			d, _ = c.st.Departures(generator.Request{View: generator.Components, Hub: c.r.Hub, Group: c.r.Group, Owner: c.r.Owner, Selector: c.r.Selector, Release: h.release})
			of[h.release] = d
		}
		if d == nil {
			return gone
		}
		return d.Why(h.cluster, h.component)
	}
}
