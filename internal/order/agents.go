package order

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/released"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// agentLacks says what a dependency of the hub's component lacks that the member's own engine
// deploys; empty for nothing, and for a member whose service has never reported.
func (c *composition) agentLacks(d lifecycle.Dependency, cluster *fleetstate.Cluster) string {
	if c.st.OwnerName(c.query.Hub, c.query.Owner) != fleet.OwnerHub {
		return ""
	}
	for _, group := range slices.Sorted(maps.Keys(cluster.Groups)) {
		one := lifecycle.Dependency{Group: group, Component: d.Component}
		grant, _ := c.st.Facts().Application(catalog.ApplicationName(catalog.GrantPrefix+"-"+group, cluster.Member.Name))
		if !d.Is(group, d.Component) || !grant.IsReported() || !one.IsToRun(c.st, cluster, cluster.Member.Name) {
			continue
		}
		is, _ := grant.Reported(d.Component)
		switch {
		case grant.Unheard != "":
			return grant.Unheard
		case is.Health != "Healthy":
			return "its member does not report it as healthy"
		}
		return c.agentIsLate(is, grant, cluster, cluster.Groups[group])
	}
	return ""
}

// agentIsLate says that an agent does not run the newest of a component. In a rollout that covers
// agents, the newest is what the member's ring has: its grant is healthy at that.
func (c *composition) agentIsLate(is facts.ComponentReport, grant facts.Application, cluster *fleetstate.Cluster, g *fleetstate.Group) string {
	m := cluster.Member
	if slices.ContainsFunc(c.st.Fleet.Rollouts, func(p *rollout.Policy) bool {
		return p.Agents && p.Scope.Covers(g.Name, is.Component) && p.Covers(m.InRollout())
	}) {
		if desired, isKnown := c.grantOf(grant.Name); isKnown {
			return lacking(grant, desired)
		}
		return "there is no answer about the ownership grant of its group"
	}
	resolver := c.st.ResolverOf(cluster)
	r, problems := resolver.Resolve(cluster, g, is.Component, released.GroupOf(c.st, cluster, g).Base(is.Component))
	if len(problems) > 0 {
		return "it cannot be computed"
	}
	set, problems := paramset.NewComponentSet(resolver, cluster, g, is.Component, r, "")
	if len(problems) > 0 || set.Recipe() != is.Digest {
		return "its member does not run the newest"
	}
	return ""
}

// grantOf returns the parameter set of an ownership grant.
func (c *composition) grantOf(name string) (response.ParameterSet, bool) {
	if c.grants == nil {
		c.grants = map[string]response.ParameterSet{}
		if r, err := c.order.o.Desired(c.st, query.Query{View: query.Grants, Hub: c.query.Hub}); err == nil {
			r.ParameterSets(func(s response.ParameterSet) { c.grants[s.Item().Name] = s })
		}
	}
	s, is := c.grants[name]
	return s, is
}
