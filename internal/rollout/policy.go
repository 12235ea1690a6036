package rollout

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
)

// Folder holds the policies.
const Folder = "fleet/rollouts"

// fleetGroup is the group of what registers a cluster: a policy covers it only if its scope names
// it, as a cluster without registration gets nothing.
const fleetGroup = "fleet"

// Policy is one file: which members get a change in which order, and on which evidence.
type Policy struct {
	Name  string
	Pos   problem.Pos
	Scope Scope
	// ScopePos is the place of Scope, or where it would be.
	ScopePos problem.Pos
	// Paused stops all rings.
	Paused bool
	// Agents reports that agents take part: each follows its ring on the hub.
	Agents bool
	// Rings are in the order in which they take a train.
	Rings     []Ring
	Approvals []Approval
	Pins      []Pin

	digest string // of the file
}

// Scope is what a policy is about. An empty list names everything.
type Scope struct {
	Groups []string `json:"groups,omitempty"`
	// Components are group/component. A group of Groups is covered as a whole.
	Components []string `json:"components,omitempty"`
	Tenants    []string `json:"tenants,omitempty"`
}

// Ring is one step of a rollout.
type Ring struct {
	Name     string
	Pos      problem.Pos
	Selector labels.Selector
	// MaxUnavailable is how many members may be unhealthy.
	MaxUnavailable Limit
	// Soak is how long the ring has to be healthy, Deadline how long it may take to become so; 0
	// for ever.
	Soak, Deadline time.Duration
	Checks         []Check
	// Windows are when the ring may take a train; none for always. Freezes are when it may not.
	Windows []Window
	Freezes []Freeze
	// NeedsApproval asks for an approval of each train.
	NeedsApproval bool
	// GoesBack answers a failed ring from its last passed train.
	GoesBack bool
}

// Check is a query with a bound on its result.
type Check struct {
	Name string
	// URL answers 200; with Query it is a Prometheus server, whose result lies between the bounds.
	URL, Query string
	Min, Max   *float64
	Timeout    time.Duration
}

// Approval lets a ring take a train.
type Approval struct {
	Ring, Revision string
	Expires        time.Time // the last day, in UTC
	// Overtakes reports that the train need not pass the rings before, nor wait for a window.
	Overtakes bool
	Reason    string
	Pos       problem.Pos
}

// Pin keeps a ring on a revision.
type Pin struct {
	Ring, Revision, Reason string
	Pos                    problem.Pos
}

// minRevision is how much of a revision has to be named.
const minRevision = 7

// names reports whether a text names a revision: as a whole, or a commit by its first characters.
func names(text, revision string) bool {
	return text == revision || len(text) >= minRevision && strings.HasPrefix(revision, text)
}

// isValid reports whether an approval has not expired.
func (a Approval) isValid(now time.Time) bool { return now.Before(a.Expires.AddDate(0, 0, 1)) }

// Member is what a policy sees of a member: what its file says, so that the choice is a function of
// the repository alone.
type Member struct {
	Hub, Name, Tenant string
	IsHub             bool
	Labels            map[string]string
}

// PolicyName is the name of the policy whose file is at a path, and whether it is a policy's.
func PolicyName(file string) (string, bool) {
	name, ok := strings.CutSuffix(path.Base(file), ".yaml")
	return name, ok && path.Dir(file) == Folder
}

// Covers reports whether a component of a group is in the scope.
func (s Scope) Covers(group, component string) bool {
	if len(s.Groups) == 0 && len(s.Components) == 0 {
		return group != fleetGroup
	}
	return slices.Contains(s.Groups, group) || slices.Contains(s.Components, group+"/"+component)
}

// CoversPart reports whether any component of a group is in the scope.
func (s Scope) CoversPart(group string) bool {
	return s.Covers(group, "") || slices.ContainsFunc(s.Components, func(c string) bool { return strings.HasPrefix(c, group+"/") })
}

// CoversTenant reports whether a tenant's members are in the scope.
func (s Scope) CoversTenant(tenant string) bool {
	return len(s.Tenants) == 0 || slices.Contains(s.Tenants, tenant)
}

// Overlaps reports whether two scopes have something in common.
func (s Scope) Overlaps(t Scope) bool {
	if len(s.Tenants) > 0 && len(t.Tenants) > 0 && !slices.ContainsFunc(s.Tenants, t.CoversTenant) {
		return false
	}
	covered := func(a, b Scope) bool {
		return slices.ContainsFunc(a.Groups, b.CoversPart) || slices.ContainsFunc(a.Components, func(c string) bool {
			group, component, _ := strings.Cut(c, "/")
			return b.Covers(group, component)
		})
	}
	isAll := func(s Scope) bool { return len(s.Groups) == 0 && len(s.Components) == 0 }
	return isAll(s) && isAll(t) || covered(s, t) || covered(t, s)
}

// Covers reports whether a member is in a ring of the policy. A hub's own cluster is in none that
// does not select it: it deploys all others.
func (p *Policy) Covers(m Member) bool {
	return p.Scope.CoversTenant(m.Tenant) && (!m.IsHub || len(p.matching(m)) > 0)
}

// RingOf is the index of a covered member's ring (rule 6).
func (p *Policy) RingOf(m Member) int {
	if found := p.matching(m); len(found) > 0 {
		return found[len(found)-1]
	}
	return len(p.Rings) - 1
}

// matching are the rings whose selectors select a member.
func (p *Policy) matching(m Member) (out []int) {
	for i, r := range p.Rings {
		if r.Selector.Matches(m.Labels) {
			out = append(out, i)
		}
	}
	return out
}

// Ring is a ring by its name, nil without one.
func (p *Policy) Ring(name string) *Ring {
	i := slices.IndexFunc(p.Rings, func(r Ring) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Rings[i]
}
