package lifecycle

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// MissingSecret is the problem of a cluster that is not registered, yet there is something to be
// lost on it: its own engine asks, or it has Applications of the requester's. Its Secret has gone
// while nobody looked. What the Secret said of it is not known, so that its sets cannot be
// computed; left out, they would be removed (G2). A retired cluster is to go, and what registers
// one needs no Secret.
func MissingSecret(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster) []problem.Problem {
	if IsReachable(c, q.Group) || c.IsRetired() || q.View == query.Members || q.LabelSelector.Refuses(c.Labels.All) {
		return nil
	}
	found := ""
	switch apps := st.Facts().ApplicationsOf(c.Member.Name); {
	case q.View != query.Agents && q.View != query.Grants && q.Requester != fleet.OwnerHub && Owns(st, c, q.Group, q.Requester): // a member sees itself alone
		found = "its engine asks, but it has no cluster Secret"
	case !q.Desired:
		if i := slices.IndexFunc(apps, func(a facts.Application) bool { return isQueried(st, q, c, a) }); i >= 0 {
			found = fmt.Sprintf("it has no cluster Secret, but Applications: %q", apps[i].Name)
		}
	}
	if found == "" {
		return nil
	}
	return c.Attribute([]problem.Problem{{
		Reason: problem.MissingSecret, Severity: problem.Error, Pos: c.Member.Pos, Subject: fmt.Sprintf("cluster %q", c.Member.Name),
		Found: found, Expected: "its Secret, or lifecycle: retired",
	}})
}

// isQueried reports whether an Application of a cluster is the requester's, as far as its labels
// say. One that another ApplicationSet controls is not deleted by this one.
func isQueried(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster, a facts.Application) bool {
	switch q.View {
	case query.Grants:
		return a.Grant
	case query.Agents:
		return c.Member.Remote && a.Name == catalog.ApplicationName(fleetstate.Agent, c.Member.Name)
	}
	if !Owns(st, c, q.Group, q.Requester) || a.Group != q.Group || a.Name != catalog.ApplicationName(a.Component, c.Member.Name) {
		return false
	}
	return (q.Component == "" || a.Component == q.Component) &&
		(q.Release == "" || a.Release == "" || a.Release == q.Release) &&
		(q.ApplicationSet == "" || a.Controller == "" || a.Controller == q.ApplicationSet)
}
