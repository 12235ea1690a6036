package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
)

// The routes that a token may be good for.
const (
	GetParams  = "getparams"
	FluxInputs = "flux-inputs"
	Registry   = "registry"
	FleetRoute = "fleet"
	Explain    = "explain"
	Webhook    = "webhook"
)

// Routes are all routes, in the order that the documentation has.
var Routes = []string{GetParams, FluxInputs, Registry, FleetRoute, Explain, Webhook}

// Scope is what a token may ask for. Nil lists other than Routes allow all.
type Scope struct {
	Routes, Views, Hubs, Groups, Owners, Tenants []string
}

// maxWord bounds what of a request's words goes into an error.
const maxWord = 63

func cut(s string) string {
	if len(s) > maxWord {
		return strings.ToValidUTF8(s[:maxWord], "") + "..."
	}
	return s
}

// Denied is why a token's bearer may not ask what it asks.
type Denied struct{ message string }

// Error is the same for the same question (G5).
func (d *Denied) Error() string { return d.message }

func (g *Grant) denied(format string, args ...any) error {
	return &Denied{fmt.Sprintf("token %q may not ask for ", g.Name) + fmt.Sprintf(format, args...)}
}

// may reports whether a list allows a word.
func may(list []string, word string) bool { return list == nil || slices.Contains(list, word) }

// Route is nil if the token is good for a route at all. A nil Grant is good for nothing.
func (g *Grant) Route(route string) error {
	switch {
	case g == nil:
		return &Denied{"nobody has said whose request this is"}
	case g.scope == nil || slices.Contains(g.scope.Routes, route):
		return nil
	}
	return g.denied("route %q", route)
}

// Ask is nil if the token's bearer may ask a fleet this (rules 1 and 2).
func (g *Grant) Ask(q generator.Request, f *fleet.Fleet) error {
	if g == nil {
		return g.Route("")
	}
	s := g.scope
	if s == nil {
		return nil
	}
	grouped := q.View == generator.Releases || q.View == generator.Components
	switch {
	case !may(s.Views, string(q.View)):
		return g.denied("view %q", cut(string(q.View)))
	case !may(s.Hubs, q.Hub):
		return g.denied("hub %q", cut(q.Hub))
	case s.Groups != nil && !grouped:
		return g.denied("view %q, which tells of all groups", cut(string(q.View)))
	case !may(s.Groups, q.Group):
		return g.denied("group %q", cut(q.Group))
	}
	owner, err := g.owner(q.Hub, q.Owner, f)
	if err != nil || s.Tenants == nil || owner != fleet.OwnerHub { // a member's engine sees itself alone
		return err
	}
	if self := f.HubMember(q.Hub); q.View == generator.Releases && (self == nil || !may(s.Tenants, self.Tenant)) {
		return g.denied("view %q of owner %q: its sets are of the hub, which is another tenant's", q.View, fleet.OwnerHub)
	}
	if selector, err := labels.ParseSelector(q.Selector); err != nil || !selector.Demands(labels.Tenant, s.Tenants) {
		return g.denied("clusters of other tenants: expected a selector that says so, with label %q in (%s), or one of their clusters as owner",
			labels.Tenant, strings.Join(s.Tenants, ", "))
	}
	return nil
}

// owner is who asks, as the generator sees it: OwnerHub, or a member that the token may be the engine of.
func (g *Grant) owner(hub, owner string, f *fleet.Fleet) (string, error) {
	s := g.scope
	self := f.HubMember(hub)
	if owner == "" || owner == fleet.OwnerHub || self != nil && owner == self.Name {
		if !may(s.Owners, fleet.OwnerHub) && (self == nil || !slices.Contains(s.Owners, self.Name)) {
			return "", g.denied("owner %q", fleet.OwnerHub)
		}
		return fleet.OwnerHub, nil
	}
	m := f.Member(hub, owner)
	if !may(s.Owners, owner) || s.Tenants != nil && (m == nil || !may(s.Tenants, m.Tenant)) {
		return "", g.denied("owner %q", cut(owner))
	}
	return owner, nil
}

// Sees reports whether the token's bearer may know of a cluster. Who asks as a member sees that member alone, who asks as
// the hub sees all that the hub registers.
func (g *Grant) Sees(hub, cluster, tenant string) bool {
	if g == nil || g.scope == nil {
		return g != nil
	}
	s := g.scope
	return may(s.Hubs, hub) && may(s.Tenants, tenant) && (may(s.Owners, fleet.OwnerHub) || slices.Contains(s.Owners, cluster))
}

// Cluster is the hub of a cluster that the token's bearer may ask about, as far as it is known: where several hubs have
// one of that name, only one that the token sees counts (rule 4).
func (g *Grant) Cluster(hub, cluster, group string, f *fleet.Fleet) (string, error) {
	if g == nil {
		return "", g.Route("")
	}
	s := g.scope
	switch {
	case s == nil:
		return hub, nil
	case hub != "" && !may(s.Hubs, hub):
		return "", g.denied("hub %q", cut(hub))
	case !may(s.Groups, group):
		return "", g.denied("group %q", cut(group))
	case s.Hubs == nil && s.Owners == nil && s.Tenants == nil:
		return hub, nil
	}
	var found []string
	for _, h := range f.Hubs() {
		if m := f.Member(h, cluster); m != nil && (hub == "" || h == hub) && g.Sees(h, m.Name, m.Tenant) {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 0:
		return "", g.denied("cluster %q", cut(cluster))
	case 1:
		return found[0], nil
	}
	return "", g.denied("cluster %q of several hubs at once: name one", cut(cluster))
}

// Repository is nil if the token's bearer may pull what an engine is to run. The hub's own is about clusters of all
// tenants.
func (g *Grant) Repository(hub, owner string, f *fleet.Fleet) error {
	if g == nil {
		return g.Route("")
	}
	s := g.scope
	if s == nil {
		return nil
	}
	if !may(s.Hubs, hub) {
		return g.denied("hub %q", cut(hub))
	}
	owner, err := g.owner(hub, owner, f)
	if err == nil && owner == fleet.OwnerHub && s.Tenants != nil {
		return g.denied("owner %q, which has clusters of all tenants", fleet.OwnerHub)
	}
	return err
}

// Hub is nil if the token's bearer may ask about a hub; "" is all that it may.
func (g *Grant) Hub(hub string) error {
	if g != nil && (g.scope == nil || hub == "" || may(g.scope.Hubs, hub)) {
		return nil
	}
	if g == nil {
		return g.Route("")
	}
	return g.denied("hub %q", cut(hub))
}

// Restricted is what a listing for the token's bearer is complete for, nil if it is complete.
func (g *Grant) Restricted() *Scope {
	if g == nil || g.scope == nil || g.scope.Hubs == nil && g.scope.Owners == nil && g.scope.Tenants == nil {
		return nil
	}
	return g.scope
}

// Withholds reports whether problems that an answer failed for are about more than the token's bearer may know of: those
// of other clusters, and for a token of certain tenants those of the repository as a whole.
func (g *Grant) Withholds(problems []problem.Problem, f *fleet.Fleet) bool {
	if g.Restricted() == nil {
		return false
	}
	return slices.ContainsFunc(problems, func(p problem.Problem) bool {
		if p.Cluster == "" {
			return p.Hub != "" && !may(g.scope.Hubs, p.Hub) || g.scope.Tenants != nil || g.scope.Owners != nil
		}
		m := f.Member(p.Hub, p.Cluster)
		return m == nil || !g.Sees(p.Hub, m.Name, m.Tenant)
	})
}
