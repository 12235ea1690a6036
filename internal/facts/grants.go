package facts

import (
	"slices"
	"strings"
)

// What the ConfigMap of a grant says of itself, beside the label argosy.dev/cluster. Written by charts/agent-grant and
// the hub's ApplicationSet, read by internal/hub.
const (
	// GrantLabel names the group, on the ConfigMap and on the Application that delivers it.
	GrantLabel = "argosy.dev/grant"
	// GrantFinalizer keeps the ConfigMap there as long as the member's engine may have anything of the group.
	GrantFinalizer = "argosy.dev/grant"
)

// Grant is what has arrived of a group's grant on the member that it is for.
type Grant struct {
	Group string
	// UID is the ConfigMap's: another one of the same name is another grant.
	UID string
	// Held tells that it carries our finalizer, so that it cannot go without our knowing.
	Held bool
	// Leaving tells that it is to go: it is being deleted.
	Leaving bool
}

// grants are one member's, sorted by group.
type grants struct {
	member string
	sorted []Grant
}

// WithGrants is the set with all grants that a member has; there may be none, which is not the same as nobody's looking for
// them.
func (s Set) WithGrants(member string, all ...Grant) Set {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Grant) int { return strings.Compare(a.Group, b.Group) })
	s.grants = &grants{member, sorted}
	return s
}

// Grants are all grants of a member, sorted by group, and whether anybody looks for them. They must not be changed.
func (s Set) Grants(member string) (all []Grant, known bool) {
	if s.grants == nil || s.grants.member != member {
		return nil, false
	}
	return s.grants.sorted, true
}

// GrantsOf is whose grants are looked for, empty if nobody's are.
func (s Set) GrantsOf() string {
	if s.grants == nil {
		return ""
	}
	return s.grants.member
}

// Holds reports whether a member may run a group: its grant is there, cannot go unseen and is not to go; and whether
// anybody looks for its grants.
func (s Set) Holds(member, group string) (holds, known bool) {
	all, known := s.Grants(member)
	return slices.ContainsFunc(all, func(g Grant) bool { return g.Group == group && g.Held && !g.Leaving }), known
}

// Granted reports whether the hub has an Application that delivers a group's grant to a cluster.
func (s Set) Granted(cluster, group string) bool {
	return slices.ContainsFunc(s.ApplicationsOf(cluster), func(a Application) bool { return a.Grant && a.Group == group })
}

// EqualGrants reports whether two sets say the same of grants that have arrived.
func (s Set) EqualGrants(t Set) bool {
	if s.grants == nil || t.grants == nil {
		return s.grants == t.grants
	}
	return s.grants.member == t.grants.member && slices.Equal(s.grants.sorted, t.grants.sorted)
}
