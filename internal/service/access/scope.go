package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// The routes that a scope may allow.
const (
	GetParams  = "getparams"
	FluxInputs = "flux-inputs"
	Registry   = "registry"
	FleetRoute = "fleet"
	Explain    = "explain"
	Webhook    = "webhook"
	Web        = "web"
)

// Routes lists all routes, in the order of the documentation.
var Routes = []string{GetParams, FluxInputs, Registry, FleetRoute, Explain, Webhook, Web}

// Scope says what a bearer token may query. A nil list other than Routes allows all.
type Scope struct {
	Routes  []string `json:"routes" is:"quoted" jsonschema:"uniqueItems=true,enum=getparams,enum=flux-inputs,enum=registry,enum=fleet,enum=explain,enum=webhook,enum=web"`
	Views   []string `json:"views,omitempty" is:"quoted" jsonschema:"uniqueItems=true,enum=agents,enum=components,enum=grants,enum=members,enum=releases"`
	Hubs    []string `json:"hubs,omitempty" is:"quoted" jsonschema:"uniqueItems=true"`
	Groups  []string `json:"groups,omitempty" is:"quoted" jsonschema:"uniqueItems=true"`
	Owners  []string `json:"owners,omitempty" is:"quoted" jsonschema:"uniqueItems=true"`
	Tenants []string `json:"tenants,omitempty" is:"quoted" jsonschema:"uniqueItems=true"`
	Base    *bool    `json:"base,omitempty"`
	// NoBase denies queries with a catalog entry of their own.
	NoBase bool
}

// nothing is the scope of a Bearer without one.
var nothing = &Scope{Views: []string{}, Hubs: []string{}, Groups: []string{}, Owners: []string{}, Tenants: []string{}, NoBase: true}

// allowed returns the bearer's scope.
func (b *Bearer) allowed() *Scope {
	if b == nil || b.scope == nil {
		return nothing
	}
	return b.scope
}

// cut shortens a word of a request for an error.
func cut(s string) string { return problem.Truncate(s, 63+len("...")) }

// Denied says why a query is outside the scope of its token.
type Denied struct{ message string }

// Error returns the same text for the same query.
func (d *Denied) Error() string { return d.message }

func (b *Bearer) denied(format string, args ...any) error {
	if b == nil {
		return &Denied{"the request is not authenticated"}
	}
	return &Denied{fmt.Sprintf("token %q may not ask for ", b.Name) + fmt.Sprintf(format, args...)}
}

// allows reports whether a list allows a word.
func allows(list []string, word string) bool { return list == nil || slices.Contains(list, word) }

// Route returns nil if the scope allows a route at all. A nil Bearer may do nothing.
func (b *Bearer) Route(route string) error {
	if slices.Contains(b.allowed().Routes, route) {
		return nil
	}
	return b.denied("route %q", route)
}

// Ask returns nil if the scope allows a query of a fleet.
func (b *Bearer) Ask(q query.Query, f *fleet.Fleet) error {
	s := b.allowed()
	grouped := q.View == query.Releases || q.View == query.Components
	switch {
	case !allows(s.Views, string(q.View)):
		return b.denied("view %q", cut(string(q.View)))
	case !allows(s.Hubs, q.Hub):
		return b.denied("hub %q", cut(q.Hub))
	case s.Groups != nil && !grouped:
		return b.denied("view %q, which tells of all groups", cut(string(q.View)))
	case !allows(s.Groups, q.Group):
		return b.denied("group %q", cut(q.Group))
	case s.NoBase && q.Base != nil:
		return b.denied("a catalog entry of its own (base)")
	}
	owner, err := b.owner(q.Hub, q.Owner, f)
	if err != nil || s.Tenants == nil || owner != fleet.OwnerHub { // a member's engine sees only itself
		return err
	}
	if self := f.HubMember(q.Hub); q.View == query.Releases && (self == nil || !allows(s.Tenants, self.Tenant)) {
		return b.denied("view %q of owner %q: its sets are of the hub, which is another tenant's", q.View, fleet.OwnerHub)
	}
	if selector, err := labels.ParseSelector(q.Selector); err != nil || !selector.Demands(labels.Tenant, s.Tenants) {
		return b.denied("clusters of other tenants: expected a selector that says so, with label %q in (%s), or one of their clusters as owner",
			labels.Tenant, strings.Join(s.Tenants, ", "))
	}
	return nil
}

// owner returns the query's owner as the resolver sees it: OwnerHub, or a member in the scope.
func (b *Bearer) owner(hub, owner string, f *fleet.Fleet) (string, error) {
	s := b.allowed()
	self := f.HubMember(hub)
	if owner == "" || owner == fleet.OwnerHub || self != nil && owner == self.Name {
		if !allows(s.Owners, fleet.OwnerHub) && (self == nil || !slices.Contains(s.Owners, self.Name)) {
			return "", b.denied("owner %q", fleet.OwnerHub)
		}
		return fleet.OwnerHub, nil
	}
	m := f.Member(hub, owner)
	if !allows(s.Owners, owner) || s.Tenants != nil && (m == nil || !allows(s.Tenants, m.Tenant)) {
		return "", b.denied("owner %q", cut(owner))
	}
	return owner, nil
}

// Sees reports whether the scope shows a cluster. A scope that owns a member sees only that member;
// a scope that owns the hub sees all of the hub's members.
func (b *Bearer) Sees(hub, cluster, tenant string) bool {
	s := b.allowed()
	return allows(s.Hubs, hub) && allows(s.Tenants, tenant) && (allows(s.Owners, fleet.OwnerHub) || slices.Contains(s.Owners, cluster))
}

// SeesGroup reports whether the scope shows a group.
func (b *Bearer) SeesGroup(group string) bool { return allows(b.allowed().Groups, group) }

// SeesEverything reports whether the scope shows all clusters and groups.
func (b *Bearer) SeesEverything() bool { return b.Restricted() == nil && b.allowed().Groups == nil }

// Cluster returns the hub of a cluster that the bearer may query. If several hubs have a cluster of
// that name, only the hubs in the scope count, so a denial does not reveal the others.
func (b *Bearer) Cluster(hub, cluster, group string, f *fleet.Fleet) (string, error) {
	s := b.allowed()
	switch {
	case hub != "" && !allows(s.Hubs, hub):
		return "", b.denied("hub %q", cut(hub))
	case !allows(s.Groups, group):
		return "", b.denied("group %q", cut(group))
	case s.Hubs == nil && s.Owners == nil && s.Tenants == nil:
		return hub, nil
	}
	var found []string
	for _, h := range f.Hubs() {
		if m := f.Member(h, cluster); m != nil && (hub == "" || h == hub) && b.Sees(h, m.Name, m.Tenant) {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return "", b.denied("cluster %q", cut(cluster))
	case 1:
		return found[0], nil
	}
	return "", b.denied("cluster %q of several hubs at once: name one", cut(cluster))
}

// Hidden returns the denial of an owner or a cluster that the served state hides from the scope. It
// has the text for a missing one.
func (b *Bearer) Hidden(what, name string) error { return b.denied("%s %q", what, cut(name)) }

// Repository returns nil if the scope allows to pull an engine's artifact. The hub's own artifact
// is about clusters of all tenants.
func (b *Bearer) Repository(hub, owner string, f *fleet.Fleet) error {
	s := b.allowed()
	if !allows(s.Hubs, hub) {
		return b.denied("hub %q", cut(hub))
	}
	owner, err := b.owner(hub, owner, f)
	if err == nil && owner == fleet.OwnerHub && s.Tenants != nil {
		return b.denied("owner %q, which has clusters of all tenants", fleet.OwnerHub)
	}
	return err
}

// Hub returns nil if the scope allows a hub; "" stands for all hubs in the scope.
func (b *Bearer) Hub(hub string) error {
	if b != nil && hub == "" || allows(b.allowed().Hubs, hub) {
		return nil
	}
	return b.denied("hub %q", cut(hub))
}

// Whole returns nil if the scope shows all of a hub, of every tenant; "" stands for all hubs.
func (b *Bearer) Whole(hub string) error {
	switch s := b.allowed(); {
	case s.Hubs != nil && (hub == "" || !allows(s.Hubs, hub)):
		return b.denied("what is about other hubs: ask for /api/v1/fleet")
	case s.Tenants != nil || s.Owners != nil || s.Groups != nil:
		return b.denied("what is about all tenants and owners: ask for /api/v1/fleet")
	}
	return nil
}

// Restricted returns the scope that restricts a listing for the bearer, nil if it shows everything.
func (b *Bearer) Restricted() *Scope {
	if s := b.allowed(); s.Hubs != nil || s.Owners != nil || s.Tenants != nil {
		return s
	}
	return nil
}

// Withholds reports whether problems of a failed query are outside the scope: problems of other
// clusters, and of the whole repository if the scope is limited to tenants or owners.
func (b *Bearer) Withholds(problems []problem.Problem, f *fleet.Fleet) bool {
	s := b.Restricted()
	if s == nil {
		return false
	}
	return slices.ContainsFunc(problems, func(p problem.Problem) bool {
		if p.Cluster == "" {
			return p.Hub != "" && !allows(s.Hubs, p.Hub) || s.Tenants != nil || s.Owners != nil
		}
		m := f.Member(p.Hub, p.Cluster)
		return m == nil || !b.Sees(p.Hub, m.Name, m.Tenant)
	})
}
