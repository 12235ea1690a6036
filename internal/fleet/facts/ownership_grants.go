package facts

import (
	"slices"
	"strings"
)

// Metadata of the ConfigMap of a grant, beside the label argosy.dev/cluster. charts/agent-grant and
// the hub's ApplicationSet write it, internal/hub reads it.
const (
	// GrantLabel names the group, on the ConfigMap and on the Application that delivers it.
	GrantLabel = "argosy.dev/grant"
	// GrantFinalizer keeps the ConfigMap there while the member's engine may have anything of the
	// group.
	GrantFinalizer = "argosy.dev/grant"
	// RingsAnnotation has the revisions that the member follows in rollouts, as a
	// rollout.Announcement.
	RingsAnnotation = "argosy.dev/rings"
	// RingsHealthAnnotation has the member's report on the group: the RingsAnnotation that its
	// service uses, and a health status of Argo CD. The health check of the hub's Argo CD reads
	// both.
	RingsHealthAnnotation = "argosy.dev/rings-health"
)

// OwnershipGrant is a group's ownership grant as the member has it.
type OwnershipGrant struct {
	Group string
	// UID is the ConfigMap's UID: another ConfigMap of the same name is another grant.
	UID string
	// Held reports that it carries our finalizer, so that it cannot be deleted unseen.
	Held bool
	// IsDeleted reports that its deletion has begun.
	IsDeleted bool
	// Rings is its RingsAnnotation.
	Rings string `json:",omitempty"`
}

// grants are one member's grants, sorted by group.
type grants struct {
	member string
	sorted []OwnershipGrant
}

// WithGrants returns the set with all grants of a member. An empty list is not the same as grants
// that are not watched.
func (s Set) WithGrants(member string, all ...OwnershipGrant) Set {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b OwnershipGrant) int { return strings.Compare(a.Group, b.Group) })
	s.grants = &grants{member, sorted}
	return s
}

// Grants returns the grants of a member, sorted by group, and whether they are watched. They must
// not be changed.
func (s Set) Grants(member string) (all []OwnershipGrant, known bool) {
	if s.grants == nil || s.grants.member != member {
		return nil, false
	}
	return s.grants.sorted, true
}

// GrantsOf returns the member whose grants are watched, or "".
func (s Set) GrantsOf() string {
	if s.grants == nil {
		return ""
	}
	return s.grants.member
}

// Holds reports whether a member may run a group, because its grant is held and not being deleted,
// and whether its grants are watched.
func (s Set) Holds(member, group string) (holds, known bool) {
	all, known := s.Grants(member)
	return slices.ContainsFunc(all, func(g OwnershipGrant) bool { return g.Group == group && g.Held && !g.IsDeleted }), known
}

// Granted reports whether the hub has an Application that delivers a group's grant to a cluster.
func (s Set) Granted(cluster, group string) bool {
	return slices.ContainsFunc(s.ApplicationsOf(cluster), func(a Application) bool { return a.Grant && a.Group == group })
}

// EqualGrants reports whether two sets have the same watched grants.
func (s Set) EqualGrants(t Set) bool {
	if s.grants == nil || t.grants == nil {
		return s.grants == t.grants
	}
	return s.grants.member == t.grants.member && slices.Equal(s.grants.sorted, t.grants.sorted)
}
