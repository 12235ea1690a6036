package generator

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// agentSets are one set per member of the agent model: what its engine needs to deploy for itself (M2).
func (st *State) agentSets(q query) ([]ParameterSet, []problem.Problem) {
	clusters, problems := st.asked(q)
	var sets []ParameterSet
	for _, c := range clusters {
		m := c.Member
		if !m.Remote || !c.Registered || c.IsRetired() {
			continue // a retired agent is left alone: it may have Applications of its own to remove, which the hub does not see
		}
		s := &AgentSet{
			Common: c.common(ApplicationName(Agent, m.Name)), Engine: m.Engine, Flags: map[string]string{}, Groups: []string{}, Deletion: fleet.Orphan,
		}
		for _, flag := range fleet.Flags {
			s.Flags[flag] = m.Flag(flag)
		}
		for _, g := range st.ResolverOf(c).Fleet.Layout.GroupNames() {
			if m.Owner(g) == m.Name {
				s.Groups = append(s.Groups, g)
			}
		}
		if m.Engine == fleet.EngineFlux {
			components, faults := st.ResolverOf(c).ownComponents(c, s.Groups)
			problems = append(problems, faults...)
			s.Components = components
		}
		values, err := yamldoc.FromAny(nil, st.agentValues(c)).YAML()
		credentials, err2 := st.CredentialValues(c).YAML()
		if err := errors.Join(err, err2); err != nil {
			problems = append(problems, c.Attribute(problem.From(err, problem.InvalidValue, m.Pos))...)
			continue
		}
		s.HelmValues, s.CredentialValues = string(values), string(credentials)
		sets = append(sets, s)
	}
	return sets, problems
}

// ownComponents are all components of the groups that an agent owns.
func (b *Resolver) ownComponents(c *Cluster, groups []string) ([]ComponentSet, []problem.Problem) {
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

// agentValues are the values of charts/generator-plugin on the member: who it is, where the fleet's repository is, and
// its labels and annotations as the hub sees them, which are the facts of the member's own engine: both must come to
// the same selections (M1).
func (st *State) agentValues(c *Cluster) map[string]any {
	git := map[string]any{}
	for key, annotation := range map[string]string{"url": "fleet_repo_url", "ref": "fleet_repo_revision"} {
		if v := c.Annotations.All[annotation]; v != "" {
			git[key] = v
		}
	}
	if n := c.fleetCredentials(); n != nil && provided(c.Member) && n.Get("type") != nil && n.Get("type").Text == "http" {
		// The service takes a user name and a password from the Secret that charts/fleet-secret makes for Argo CD; the
		// other types have keys that only Argo CD knows.
		git["credentialsSecret"] = c.Member.Name + "-git-" + FleetCredentials
	}
	ownLabels := maps.Clone(c.Labels.All)
	delete(ownLabels, labels.SecretType) // the chart's own
	out := map[string]any{
		"hub": c.Member.Hub, "owner": c.Member.Name, "source": map[string]any{"git": git},
		"localCluster": map[string]any{"labels": anyMap(ownLabels), "annotations": anyMap(c.Annotations.All)},
	}
	if token := c.pushedToken(); token != nil {
		out["token"] = token
	}
	return out
}
