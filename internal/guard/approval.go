package guard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// approvedUntil reports whether an approval that counts covers a removal, and when it ends.
func (c *commit) approvedUntil(f *fleet.Fleet, hub string, r lifecycle.Removal, now time.Time) (time.Time, bool) {
	var ends time.Time
	for _, a := range c.approvals {
		if a.CountsAt(now) && a.Ends().After(ends) && approves(f, a, hub, r) {
			ends = a.Ends()
		}
	}
	return ends, !ends.IsZero()
}

// approves reports whether an approval covers a removal. What makes a cluster is deleted by an
// approval that names the cluster and its class, which stands for all of it (C3).
func approves(f *fleet.Fleet, a fleet.Approval, hub string, r lifecycle.Removal) bool {
	removal := approvable(f, hub, r)
	if deletesCluster(r) {
		return a.Names(removal)
	}
	return a.Approves(removal)
}

// deletesCluster reports whether a removal deletes a part of what makes a cluster (C3).
func deletesCluster(r lifecycle.Removal) bool {
	return r.Group == provision.Group && r.Deletion == fleet.Cascade
}

// reportApproved reports the removals of a judged state that an approval lets pass.
func (g *Guard) reportApproved(st *fleetstate.State, hub string, c *commit) {
	if g.o.Approved == nil {
		return
	}
	for _, r := range c.approved {
		if c.refuses(r, true) != "" {
			continue
		}
		for _, a := range c.approvals {
			if a.CountsAt(g.o.Now()) && approves(st.Fleet, a, hub, r) {
				g.o.Approved(st, hub, r, a.Pos)
				break
			}
		}
	}
}

// isNamed reports whether an approval that counts names a removal in this way.
func (c *commit) isNamed(names func(fleet.Approval, fleet.Removal) bool, f *fleet.Fleet, hub string, r lifecycle.Removal, now time.Time) bool {
	removal := approvable(f, hub, r)
	return slices.ContainsFunc(c.approvals, func(a fleet.Approval) bool { return a.CountsAt(now) && names(a, removal) })
}

// approvable is a removal as approvals name it.
func approvable(f *fleet.Fleet, hub string, r lifecycle.Removal) fleet.Removal {
	out := fleet.Removal{Hub: hub, Cluster: r.Cluster, Group: r.Group, Component: r.Component}
	if m := f.Member(hub, r.Cluster); m != nil {
		out.Tenant, out.Environment = m.Tenant, m.Environment
		if deletesCluster(r) && m.Provision != nil {
			out.Component = m.Provision.Class
		}
	}
	return out
}

// NeededApproval is an approval that would let refused responses pass.
type NeededApproval struct {
	Hub        string
	Clusters   []string
	Components []string
}

// NeededApprovals returns the approvals with which no response would be over budget. Clusters that
// lose the same share one.
func NeededApprovals(all []Decision, after *fleet.Fleet) []NeededApproval {
	type member struct{ hub, cluster string }
	lost := map[member]map[string]bool{}
	for _, d := range all {
		if !d.IsOverBudget() {
			continue
		}
		for _, r := range d.Unapproved {
			m := member{d.Hub, r.Cluster}
			if lost[m] == nil {
				lost[m] = map[string]bool{}
			}
			name := r.Group + "/" + r.Component
			if d.IsOfCommit() && slices.Contains(protected, r.Component) {
				lost[m][name] = true // "*" does not name it
			}
			if m := after.Member(d.Hub, r.Cluster); m == nil || m.Lifecycle == fleet.Retired || !labels.IsName(r.Component) {
				name = fleet.Any // the whole member is removed
			}
			lost[m][name] = true
		}
	}
	byComponents := map[string]*NeededApproval{}
	for _, m := range slices.SortedFunc(maps.Keys(lost), func(a, b member) int {
		return cmp.Or(strings.Compare(a.hub, b.hub), strings.Compare(a.cluster, b.cluster))
	}) {
		components := slices.Sorted(maps.Keys(lost[m]))
		if lost[m][fleet.Any] {
			components = slices.DeleteFunc(components, func(c string) bool {
				_, component, _ := strings.Cut(c, "/")
				return c != fleet.Any && !slices.Contains(protected, component)
			})
		}
		key := m.hub + " " + strings.Join(components, " ")
		if byComponents[key] == nil {
			byComponents[key] = &NeededApproval{Hub: m.hub, Components: components}
		}
		byComponents[key].Clusters = append(byComponents[key].Clusters, m.cluster)
	}
	var out []NeededApproval
	for _, key := range slices.Sorted(maps.Keys(byComponents)) {
		out = append(out, *byComponents[key])
	}
	return out
}
