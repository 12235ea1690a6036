package paramset

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/registration"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// agentSets are one set per member of the agent model: what its engine needs to deploy for itself
// (M2).
func agentSets(st *fleetstate.State, q query.Checked) ([]Set, []problem.Problem) {
	clusters, problems := queriedClusters(st, q)
	var sets []Set
	for _, c := range clusters {
		deletion, is := lifecycle.AgentDeletion(st, q, c)
		if !is {
			continue
		}
		s, faults := NewAgentSet(st, c)
		problems = append(problems, faults...)
		if s == nil {
			continue
		}
		s.Deletion = deletion
		if s.Engine == fleet.EngineFlux {
			s.Components, faults = ownComponents(st.ResolverOf(c), c, s.Groups)
			problems = append(problems, faults...)
		}
		sets = append(sets, s)
	}
	return sets, problems
}

// NewAgentSet is what a member's own engine needs to deploy for itself, without its components.
func NewAgentSet(st *fleetstate.State, c *fleetstate.Cluster) (*AgentSet, []problem.Problem) {
	m := c.Member
	s := &AgentSet{
		Common: commonOf(c, catalog.ApplicationName(fleetstate.Agent, m.Name)), Engine: m.Engine, Flags: map[string]string{}, Groups: []string{}, Deletion: fleet.Orphan,
	}
	for _, flag := range fleet.Flags {
		s.Flags[flag] = m.Flag(flag)
	}
	for _, g := range st.ResolverOf(c).Fleet.Layout.GroupNames() {
		if m.Owner(g) == m.Name {
			s.Groups = append(s.Groups, g)
		}
	}
	if !m.Remote {
		c = c.AsAgent() // its service needs its credentials until it has given back what it has
	}
	values, err := yamldoc.FromAny(nil, registration.AgentValues(c)).YAML()
	credentials, err2 := registration.AgentCredentialValues(c).YAML()
	if err := errors.Join(err, err2); err != nil {
		return nil, c.Attribute(problem.From(err, problem.InvalidValue, m.Pos))
	}
	s.HelmValues, s.CredentialValues = string(values), string(credentials)
	return s, nil
}

// ownComponents are all components of the groups that an agent owns.
func ownComponents(b *fleetstate.Resolver, c *fleetstate.Cluster, groups []string) ([]ComponentSet, []problem.Problem) {
	out := []ComponentSet{}
	var problems []problem.Problem
	for _, name := range groups {
		g := c.Groups[name]
		if len(g.Errors) > 0 {
			problems = append(problems, g.Errors...)
			continue
		}
		for _, component := range g.Components() {
			r, faults := b.Resolve(c, g, component, nil)
			problems = append(problems, faults...)
			if len(faults) > 0 || !r.Enabled {
				continue
			}
			s, faults := NewComponentSet(b, c, g, component, r, fleet.Orphan)
			problems = append(problems, faults...)
			if s != nil {
				out = append(out, *s)
			}
		}
	}
	slices.SortFunc(out, func(a, b ComponentSet) int {
		return cmp.Or(strings.Compare(a.Component, b.Component), strings.Compare(a.Group, b.Group))
	})
	return out, problems
}
