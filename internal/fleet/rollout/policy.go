package rollout

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Folder holds the policies.
const Folder = "fleet/rollouts"

// fleetGroup is the group with the registration of clusters: a policy covers it only if its scope
// names it, as a cluster without registration gets nothing.
const fleetGroup = "fleet"

// Policy is one file: which members get a change in which order, and on which evidence.
type Policy struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=Rollout"`
	// Scope is what the policy is about; without groups and components, all groups but fleet.
	Scope Scope `json:"scope,omitempty"`
	// Paused stops all rings.
	Paused bool `json:"paused,omitempty"`
	// Agents has agents follow their rings on the hub, whose Argo CD needs the health check of
	// ownership grants for it.
	Agents bool `json:"agents,omitempty"`
	// Rings are in the order in which they take a change.
	Rings     []Ring     `json:"rings" jsonschema:"minItems=1,maxItems=20" expect:"at least one ring"`
	Approvals []Approval `json:"approvals,omitempty" jsonschema:"maxItems=100"`
	Pins      []Pin      `json:"pins,omitempty" jsonschema:"maxItems=100"`

	// Name is the name of the policy's file.
	Name string      `json:"-"`
	Pos  problem.Pos `json:"-"`
	// ScopePos is the place of Scope, or where it would be.
	ScopePos problem.Pos `json:"-"`

	digest, shape string // of the file
	text          []byte // of the file
}

// Scope is what a policy is about. An empty list names everything.
type Scope struct {
	Groups []string `json:"groups,omitempty" jsonschema:"maxItems=100" is:"name" expect:"names of groups, such as addons"`
	// Components are group/component. A group of Groups is covered as a whole.
	Components []string `json:"components,omitempty" jsonschema:"maxItems=100" pattern:"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" expect:"group/component, such as addons/external-dns"`
	Tenants    []string `json:"tenants,omitempty" jsonschema:"maxItems=100" is:"name" expect:"names of tenants"`
}

// Ring is one step of a rollout.
type Ring struct {
	Name string      `json:"name" is:"name"`
	Pos  problem.Pos `json:"-" is:"place"`
	// Selector selects members by the labels of their files, and by tenant, environment, cluster
	// and hub.
	Selector labels.Selector `json:"selector" expect:"matchLabels and matchExpressions over the labels of member files; {} selects all"`
	// MaxUnavailable is how many members may be unhealthy, a number or a percentage; default 0.
	MaxUnavailable Limit `json:"maxUnavailable,omitempty" expect:"a number such as 1, or a share such as 10%"`
	// Soak is how long the ring has to be healthy without a break, such as 30m or 24h.
	Soak time.Duration `json:"soak,omitempty" longest:"1440h"`
	// Deadline is how long the ring may take to become healthy before it fails; default for ever.
	Deadline time.Duration `json:"deadline,omitempty" longest:"1440h"`
	Checks   []Check       `json:"checks,omitempty" jsonschema:"maxItems=20"`
	// Windows are when the ring may take a change; default always. Freezes are when it may not.
	Windows []Window `json:"windows,omitempty" jsonschema:"maxItems=100"`
	Freezes []Freeze `json:"freezes,omitempty" jsonschema:"maxItems=100"`
	// NeedsApproval asks for an approval of each change.
	NeedsApproval bool `json:"approval,omitempty" jsonschema:"type=string,enum=none,enum=required"`
	// GoesBack serves a failed ring from its last good revision; default hold.
	GoesBack bool `json:"onFailure,omitempty" jsonschema:"type=string,enum=hold,enum=back"`
}

// Check is a query of an HTTP endpoint or of a Prometheus server.
type Check struct {
	Name string `json:"name" expect:"what the check is called"`
	// URL responds with 200 while the check holds; with Query it is the address of a Prometheus
	// server. The service has to allow its host.
	URL string `json:"url" pattern:"^https?://[^/]" expect:"an address that begins with https:// or http://"`
	// Query is in PromQL. Each sample of its result lies between Min and Max.
	Query string   `json:"query,omitempty"`
	Min   *float64 `json:"min,omitempty" expect:"a number"`
	Max   *float64 `json:"max,omitempty" expect:"a number"`
	// Timeout bounds one query, such as 5s; default 10s, at most 1m.
	Timeout time.Duration `json:"timeout,omitempty" longest:"1m"`
}

// Window is a time of the week by the clock of a time zone.
type Window struct {
	// Days are the days on which the window opens; none for every day.
	Days []time.Weekday `json:"days,omitempty" jsonschema:"enum=sun,enum=mon,enum=tue,enum=wed,enum=thu,enum=fri,enum=sat"`
	// Opens and Closes are by the clock, such as 09:00; default the whole day.
	Opens    string `json:"from,omitempty"`
	Closes   string `json:"to,omitempty"`
	TimeZone string `json:"timeZone,omitempty"`

	// From and To are minutes after midnight by the clock. A window whose To is not after From ends
	// on the next day.
	From int            `json:"-"`
	To   int            `json:"-"`
	Zone *time.Location `json:"-"`
}

// Freeze is a time in which nothing changes: days, or moments such as 2026-12-20T18:00.
type Freeze struct {
	First    string `json:"from"`
	Last     string `json:"to"`
	TimeZone string `json:"timeZone,omitempty"`
	Reason   string `json:"reason,omitempty"`

	// From is the first moment of the freeze, and To the first after it.
	From time.Time `json:"-"`
	To   time.Time `json:"-"`
}

// Approval lets a ring take a revision until its last day.
type Approval struct {
	Ring     string `json:"ring"`
	Revision string `json:"revision" jsonschema:"minLength=7" pattern:"^.{7}" expect:"a revision, or at least its first 7 characters, in quotes"`
	// Expires is the last day of the approval, in UTC.
	Expires time.Time `json:"expires" jsonschema:"type=string,format=date" expect:"the last day of the approval, such as 2026-12-01"`
	// Overtakes lets the revision skip the rings before, their soak and the windows.
	Overtakes bool        `json:"overtake,omitempty"`
	Reason    string      `json:"reason" expect:"why the ring may take it"`
	Pos       problem.Pos `json:"-" is:"place"`
}

// Pin keeps a ring on a revision.
type Pin struct {
	Ring     string      `json:"ring"`
	Revision string      `json:"revision" jsonschema:"minLength=7" pattern:"^.{7}" expect:"a revision, or at least its first 7 characters, in quotes"`
	Reason   string      `json:"reason,omitempty"`
	Pos      problem.Pos `json:"-" is:"place"`
}

// minRevision is the least length of a revision's name.
const minRevision = 7

// names reports whether a text is a revision, or at least the first characters of a commit.
func names(text, revision string) bool {
	return text == revision || len(text) >= minRevision && strings.HasPrefix(revision, text)
}

// isValid reports whether an approval has not expired.
func (a Approval) isValid(now time.Time) bool { return now.Before(a.Expires.AddDate(0, 0, 1)) }

// Member is what a policy sees of a member: only what its file says, so that the choice is a
// function of the repository.
type Member struct {
	Hub, Name, Tenant string
	IsHub             bool
	Labels            map[string]string
}

// PolicyName returns the name of the policy whose file is at a path, and whether there may be one.
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

// Covers reports whether a member is in a ring of the policy. A hub's own cluster is only in a ring
// that selects it: it deploys all others.
func (p *Policy) Covers(m Member) bool {
	return p.Scope.CoversTenant(m.Tenant) && (!m.IsHub || len(p.matching(m)) > 0)
}

// RingOf returns the index of a covered member's ring: the last that selects it, else the last.
func (p *Policy) RingOf(m Member) int {
	if found := p.matching(m); len(found) > 0 {
		return found[len(found)-1]
	}
	return len(p.Rings) - 1
}

// matching returns the rings whose selectors select a member.
func (p *Policy) matching(m Member) (out []int) {
	for i, r := range p.Rings {
		if r.Selector.Matches(m.Labels) {
			out = append(out, i)
		}
	}
	return out
}

// Ring returns a ring by its name, nil without one.
func (p *Policy) Ring(name string) *Ring {
	i := slices.IndexFunc(p.Rings, func(r Ring) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Rings[i]
}
