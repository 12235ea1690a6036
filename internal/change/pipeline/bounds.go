package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/change/report/planreport"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Bounds limit what a change may do to be approved without a reviewer.
type Bounds struct {
	// OnlyTeam is the only team whose applications may change; empty for all.
	OnlyTeam string
	// NewCluster lists classes: if set, a change may only create one new cluster of such a class.
	// Existing stands for a cluster that the hub does not create. Empty for no such limit.
	NewCluster []string
	// MaxChanges is how many clusters, Applications and objects may change; nil for any number.
	MaxChanges *int
}

// check compares a plan with the bounds. It returns nil if there are no bounds.
func (b Bounds) check(p planreport.Plan, base, head *fleetstate.State) (*planreport.Bounds, error) {
	if b.OnlyTeam == "" && b.MaxChanges == nil && len(b.NewCluster) == 0 {
		return nil, nil
	}
	if b.OnlyTeam != "" {
		var names []string
		for _, st := range []*fleetstate.State{base, head} {
			if t := st.Resolver().Teams(); t != nil {
				names = append(names, t.Names()...)
			}
		}
		if !slices.Contains(names, b.OnlyTeam) {
			return nil, problem.Usage(problem.Nearest(b.OnlyTeam, names), "--only-team: there is no team %q", b.OnlyTeam)
		}
	}
	out := &planreport.Bounds{Team: b.OnlyTeam}
	beyond := func(format string, args ...any) { out.Beyond = append(out.Beyond, fmt.Sprintf(format, args...)) }
	if b.OnlyTeam != "" {
		out.Beyond = beyondReach(b.OnlyTeam, base, head)
	}
	for _, hub := range p.Hubs {
		for _, c := range hub.Clusters {
			if c.Action != "" || len(c.Differences) > 0 {
				out.Changes++
				if b.OnlyTeam != "" {
					beyond("cluster %s itself changes", c.Name)
				}
			}
			for _, a := range c.Applications {
				out.Changes++
				if !b.allows(a, base, head) {
					beyond("%s is not of team %s", a.Name, b.OnlyTeam)
				}
			}
		}
		for _, o := range hub.Objects {
			out.Changes++
			if b.OnlyTeam != "" {
				beyond("%s %s changes beside Applications", o.Kind, o.Name)
			}
		}
		for _, h := range hub.Holds {
			if h.Action != "" {
				out.Changes += h.Cells
			}
		}
		if b.OnlyTeam != "" && len(hub.Secrets) > 0 {
			beyond("other secrets are read or written on hub %s", hub.Name)
		}
	}
	if len(b.NewCluster) > 0 {
		out.Classes, out.Beyond = b.NewCluster, append(out.Beyond, newCluster(p, b.NewCluster, base, head)...)
	}
	if out.MaxChanges = b.MaxChanges; b.MaxChanges != nil && out.Changes > *b.MaxChanges {
		beyond("changes: %d, more than --max-changes %d", out.Changes, *b.MaxChanges)
	}
	for _, x := range p.Broken {
		if x.Revision != plan.Base {
			beyond("member %s cannot be computed", x.Cluster)
		}
	}
	if p.Guard.Over() {
		beyond("removals beyond the budget")
	}
	return out, nil
}

// allows reports whether an Application belongs to the team. It also allows a change to the
// ApplicationSets of the team's group that concerns only the team's applications: they exist from
// when a cluster first enables one.
func (b Bounds) allows(a plan.Application, base, head *fleetstate.State) bool {
	switch {
	case b.OnlyTeam == "":
		return true
	case a.Group != mount.Group:
		return false
	case a.View == query.Components:
		return b.owns(a.Component, base, head)
	case a.View != query.Releases || a.Action != plan.Change || len(a.Differences) == 0:
		return false
	}
	return !slices.ContainsFunc(a.Differences, func(d plan.Difference) bool {
		app, is := strings.CutPrefix(d.Name, catalog.ComponentsKey+".")
		return d.Kind != plan.Setting || !is || !isSwitch(d.Old) || !isSwitch(d.New) || !b.owns(app, base, head)
	})
}

// isSwitch reports whether a side of a difference enables an application or is empty.
func isSwitch(s *plan.Side) bool { return s == nil || s.Value == catalog.KeyEnabled }

// owns reports whether a component is the team's, at each revision that has it.
func (b Bounds) owns(component string, base, head *fleetstate.State) bool {
	found := false
	for _, st := range []*fleetstate.State{base, head} {
		switch owner := st.Resolver().Apps().Owner(mount.Group, component); {
		case owner == "":
		case owner != b.OnlyTeam:
			return false
		default:
			found = true
		}
	}
	return found
}

// maxBeyond is how many changes beyond the bounds an error lists.
const maxBeyond = 20

// BeyondBounds returns the error of a plan that may not be approved without a reviewer, or nil for
// one within its bounds.
func BeyondBounds(p planreport.Plan) error {
	if p.Bounds == nil || len(p.Bounds.Beyond) == 0 {
		return nil
	}
	beyond, more := p.Bounds.Beyond, ""
	if n := len(beyond) - maxBeyond; n > 0 {
		beyond, more = beyond[:maxBeyond], fmt.Sprintf("; %d more", n)
	}
	return &problem.Failure{Findings: true, Err: fmt.Errorf("beyond the bounds: %s%s", strings.Join(beyond, "; "), more)}
}
