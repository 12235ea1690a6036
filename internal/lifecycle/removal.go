package lifecycle

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/placement"
	"github.com/argosy-hub/argosy/internal/released"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Reason is why a parameter set leaves the responses (rule D2).
type Reason string

// The reasons.
const (
	Moved    Reason = "moved"    // to another release, owner or engine, where it is to run on
	Disabled Reason = "disabled" // switched off for the cluster, or a label keeps it from being selected
	Retired  Reason = "retired"  // the member file says so
	Lost     Reason = "lost"     // the files, or what switched it on, are gone, and nothing says why
	// Replaced is a component that stays, in another namespace or as another Helm release.
	Replaced Reason = "replaced"
)

// Removal is something of a member that a response leaves out, or contains only for its deletion.
type Removal struct {
	Cluster   string `json:"cluster"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	Reason    Reason `json:"cause"`
	// Deletion says whether the workloads are deleted (fleet.Cascade) or stay (fleet.Orphan).
	Deletion string `json:"deletion"`
	// Detail explains the reason, and Pos is its place; both may be empty.
	Detail string      `json:"detail,omitempty"`
	Pos    problem.Pos `json:"position,omitzero"`
	// To is the new owner of something that has moved.
	To Destination `json:"-"`
}

// String is a removal in one line.
func (r Removal) String() string {
	out := r.Cluster
	if r.Component != "" {
		out += " " + r.Group + "/" + r.Component
	}
	out += ": " + string(r.Reason)
	if r.Detail != "" {
		out += ", " + r.Detail
	}
	if !r.Pos.IsZero() {
		out += " (" + r.Pos.String() + ")"
	}
	return out
}

// Destination is the new owner of something that has moved: an owner in the form of Query.Owner,
// and a release. Hub is another hub, empty for the one that was asked.
type Destination struct{ Hub, Owner, Release string }

// Removals explains why sets are not in the response to a query, or only for their deletion.
type Removals struct {
	st *fleetstate.State
	q  query.Checked
}

// RemovalsOf returns the removals of a query. The error is a *problem.QueryError, as that of the
// response.
func RemovalsOf(st *fleetstate.State, r query.Query) (*Removals, error) {
	q, failure := query.Check(st, r)
	if failure != nil {
		return nil, failure
	}
	return &Removals{st, q}, nil
}

// Of returns why a component of a cluster is not in the response; without a component, why nothing
// of the cluster is.
func (d *Removals) Of(name, component string) Removal {
	out := d.of(name, component)
	if out.Deletion != fleet.Cascade && d.isMarked(name, component) { // its file does not say so any more
		out.Reason, out.Deletion, out.To = Lost, fleet.Cascade, Destination{}
	}
	return out
}

func (d *Removals) of(name, component string) Removal {
	m := d.st.Fleet.Member(d.q.Hub, name)
	if m == nil {
		return d.away(name, component)
	}
	c := d.st.ClusterOf(m)
	m = c.Member
	switch {
	case d.st.IsLeftOut(c, d.q.Requester, d.q.Desired):
		wrong := c.Errors()[0]
		return Removal{Reason: Lost, Deletion: fleet.Orphan, Detail: wrong.Message(), Pos: wrong.Pos}
	case c.IsRetired():
		out := Removal{Reason: Retired, Deletion: fleet.Orphan, Detail: "its member file says so", Pos: m.KeyPos("lifecycle")}
		if d.q.View != query.Components || DeletionOfRetired(d.st.Fleet, m, d.q.Group) == fleet.Cascade || d.isMarked(name, component) {
			out.Deletion = fleet.Cascade
		}
		return out
	case len(c.Broken) > 0:
		return Removal{Reason: Lost, Deletion: fleet.Orphan, Detail: c.Broken[0].Message(), Pos: c.Broken[0].Pos}
	case d.q.View == query.Members && m.IsHub:
		return Removal{Reason: Disabled, Deletion: fleet.Orphan, Detail: "it has become the hub's own", Pos: m.KeyPos("fleet_member")}
	case d.q.View == query.Grants && c.Registered:
		return Removal{Reason: Moved, Deletion: fleet.Orphan, Detail: "the hub owns the group", Pos: m.Pos}
	case d.q.View == query.Agents && !m.Remote:
		out := Removal{Reason: Disabled, Deletion: fleet.Orphan, Detail: "it is no agent any more", Pos: m.KeyPos(placement.FlagRemote)}
		if leavesAgents(m) {
			out.Deletion = fleet.Cascade
		}
		return out
	}
	if out, is := d.elsewhere(c); is {
		if component != "" && !d.runs(c, component) { // there is nobody that it could have moved to
			out = d.component(c, component)
			out.Deletion = fleet.Orphan
		}
		return out
	}
	switch {
	case d.q.LabelSelector.Refuses(c.Labels.All):
		return Removal{Reason: Disabled, Deletion: fleet.Orphan, Detail: "a label keeps it from being selected", Pos: m.Pos}
	case !d.q.LabelSelector.Matches(c.Labels.All):
		return Removal{Reason: Lost, Deletion: fleet.Orphan, Detail: "it lacks a label that is selected by", Pos: m.Pos}
	case !IsReachable(c, d.q.Group) && d.q.View != query.Members:
		return Removal{Reason: Lost, Deletion: fleet.Orphan, Detail: "its cluster Secret is gone", Pos: m.Pos}
	case component == "" || d.q.View != query.Components:
		return Removal{Reason: Lost, Deletion: fleet.Orphan, Pos: m.Pos}
	}
	return d.component(c, component)
}

// isMarked reports whether the Application of what makes a cluster has the finalizer already:
// leaving it out deletes the cluster, whatever an approval says by now (C3).
func (d *Removals) isMarked(cluster, component string) bool {
	a, there := d.st.Facts().Application(catalog.ApplicationName(component, cluster))
	return d.q.Group == provision.Group && there && a.Cascade
}

// elsewhere returns the removal of something that another owner or release has (D4).
func (d *Removals) elsewhere(c *fleetstate.Cluster) (Removal, bool) {
	if d.q.View != query.Components {
		return Removal{}, false
	}
	g := c.Groups[d.q.Group]
	switch {
	case g == nil:
		return Removal{}, false
	case Owns(d.st, c, d.q.Group, d.q.Requester) && !MayDeploy(d.st, c, d.q.Group, d.q.Requester):
		pos := c.Member.KeyPos("enable_remote_" + d.q.Group) // it comes back: nobody else is waited for
		return Removal{Reason: Moved, Deletion: fleet.Orphan, Detail: "another engine has its group still", Pos: pos}, true
	case !MayDeploy(d.st, c, d.q.Group, d.q.Requester):
		to := Destination{Owner: c.Member.Owner(d.q.Group), Release: g.Release.Type}
		return moved("another engine owns its group", c.Member.KeyPos("enable_remote_"+d.q.Group), to), true
	case d.q.Release != "" && g.Release.Type != "" && g.Release.Type != d.q.Release:
		to := Destination{Owner: d.q.Requester, Release: g.Release.Type}
		return moved(fmt.Sprintf("it is on release %q", g.Release.Type), c.Labels.Origins[release.LabelOf(g.Name)], to), true
	}
	return Removal{}, false
}

// away returns the removal of a cluster without a file under its hub. If its file has moved to
// another hub, the cluster has, with its components there.
func (d *Removals) away(name, component string) Removal {
	c := d.st.MovedCluster(d.q.Hub, name)
	if c == nil {
		out := Removal{Reason: Lost, Deletion: fleet.Orphan, Detail: "its member file is gone"}
		for _, hub := range d.st.Fleet.Hubs() {
			if m := d.st.Fleet.Member(hub, name); m != nil { // of an earlier or a later commit, or another cluster
				out.Detail, out.Pos = fmt.Sprintf("its member file is gone, and hub %q has one of that name", hub), m.Pos
				break
			}
		}
		return out
	}
	m := c.Member
	if c.IsRetired() {
		return Removal{Reason: Retired, Deletion: fleet.Orphan, Detail: "its member file says so", Pos: m.KeyPos("lifecycle")}
	}
	stays := true
	switch {
	case d.q.View == query.Members:
		stays = !m.IsHub
	case d.q.View == query.Agents:
		stays = m.Remote
	case component != "":
		stays = d.runs(c, component)
	}
	if !stays {
		return Removal{Reason: Lost, Deletion: fleet.Orphan, Detail: fmt.Sprintf("its member file has moved to hub %q, which is not to run it", m.Hub), Pos: m.Pos}
	}
	return moved(fmt.Sprintf("its member file has moved to hub %q", m.Hub), m.Pos, Destination{Hub: m.Hub})
}

// moved is the removal of something that another owner answers from now on (D4).
func moved(detail string, pos problem.Pos, to Destination) Removal {
	return Removal{Reason: Moved, Deletion: fleet.Orphan, Detail: detail, Pos: pos, To: to}
}

// runs reports whether a component is to run on a cluster, whatever engine owns it.
func (d *Removals) runs(c *fleetstate.Cluster, component string) bool {
	g := c.Groups[d.q.Group]
	if g == nil {
		return false
	}
	r, problems := d.resolve(c, g, component)
	return len(problems) == 0 && r.Enabled
}

// resolve computes a component by the query's base, or without one by the catalog that is known
// of its release.
func (d *Removals) resolve(c *fleetstate.Cluster, g *fleetstate.Group, component string) (fleetstate.Component, []problem.Problem) {
	if d.q.BaseEntry == nil {
		g, _ = released.GroupOf(d.st, c, g).Component(component)
	}
	return d.st.ResolverOf(c).Resolve(c, g, component, d.q.BaseEntry)
}

// component returns why a component does not run on a cluster.
func (d *Removals) component(c *fleetstate.Cluster, component string) Removal {
	lost := Removal{Reason: Lost, Deletion: fleet.Orphan, Detail: "no catalog has it any more"}
	g := c.Groups[d.q.Group]
	if g == nil {
		return lost
	}
	r, problems := d.resolve(c, g, component)
	if !r.Known || len(problems) > 0 || r.EntryTree == nil {
		return lost
	}
	e := r.Entry
	out := Removal{Reason: Disabled, Deletion: fleet.Cascade}
	if !isRemoved(d.st, c, g.Name, component, r) {
		out.Deletion = fleet.Orphan
		if !isDisabled(c, g.Name, component, r.EntryTree, e) || !isEngineInUse(d.st, c, g.Name, component) {
			out.Reason = Lost
		}
	}
	gone := out.Reason == Lost
	flag, key := placement.BringingFlag(c.Member, component)
	switch {
	case c.Brings(g.Name, component) == placement.Declined && !gone:
		out.Detail, out.Pos = "the flag "+flag+" does not bring it any more", c.Member.KeyPos(key)
	case !e.Enabled && gone:
		out.Detail, out.Pos = "nothing switches it on any more", r.EntryTree.At([]string{catalog.KeyEnabled}).Pos()
	case !e.Enabled:
		out.Detail, out.Pos = "switched off", r.EntryTree.At([]string{catalog.KeyEnabled}).Pos()
	case gone:
		out.Detail, out.Pos = "its selector asks for a label that the cluster does not have", r.EntryTree.At([]string{catalog.KeySelector}).Pos()
	case !e.Selector.Matches(c.Labels.All):
		out.Detail, out.Pos = "its selector does not match the cluster's labels", r.EntryTree.At([]string{catalog.KeySelector}).Pos()
	}
	return out
}
