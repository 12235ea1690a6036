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
func (st *State) agentSets(q query) ([]set, []problem.Problem) {
	clusters, problems := st.asked(q)
	var sets []set
	for _, c := range clusters {
		m := c.member
		if !m.Remote || !c.registered || c.retired() {
			continue // a retired agent is left alone: it may have Applications of its own to remove, which the hub does not see
		}
		s := &AgentSet{
			Common: c.common(applicationName(agent, m.Name)), Engine: m.Engine, Flags: map[string]string{}, Groups: []string{}, Deletion: orphan,
		}
		for _, flag := range fleet.Flags {
			s.Flags[flag] = m.Flag(flag)
		}
		for _, g := range st.of(c).Fleet.Layout.GroupNames() {
			if m.Owner(g) == m.Name {
				s.Groups = append(s.Groups, g)
			}
		}
		if m.Engine == fleet.EngineFlux {
			components, faults := st.of(c).ownComponents(c, s.Groups)
			problems = append(problems, faults...)
			s.Components = components
		}
		values, err := yamldoc.FromAny(nil, st.agentValues(c)).YAML()
		credentials, err2 := st.credentialValues(c).YAML()
		if err := errors.Join(err, err2); err != nil {
			problems = append(problems, c.own(problem.From(err, problem.InvalidValue, m.Pos))...)
			continue
		}
		s.HelmValues, s.CredentialValues = string(values), string(credentials)
		sets = append(sets, s)
	}
	return sets, problems
}

// ownComponents are all components of the groups that an agent owns.
func (b *ground) ownComponents(c *cluster, groups []string) ([]ComponentSet, []problem.Problem) {
	out := []ComponentSet{}
	var problems []problem.Problem
	for _, name := range groups {
		g := c.groups[name]
		if len(g.errors) > 0 {
			problems = append(problems, g.errors...)
			continue
		}
		for _, component := range g.components() {
			r, faults := b.resolve(c, g, component, nil)
			problems = append(problems, faults...)
			if len(faults) > 0 || !r.enabled {
				continue
			}
			s, faults := b.newComponentSet(c, g, component, r, orphan)
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
func (st *State) agentValues(c *cluster) map[string]any {
	git := map[string]any{}
	for key, annotation := range map[string]string{"url": "fleet_repo_url", "ref": "fleet_repo_revision"} {
		if v := c.annotations.All[annotation]; v != "" {
			git[key] = v
		}
	}
	if n := c.fleetCredentials(); n != nil && provided(c.member) && n.Get("type") != nil && n.Get("type").Text == "http" {
		// The service takes a user name and a password from the Secret that charts/fleet-secret makes for Argo CD; the
		// other types have keys that only Argo CD knows.
		git["credentialsSecret"] = c.member.Name + "-git-" + fleetCredentials
	}
	ownLabels := maps.Clone(c.labels.All)
	delete(ownLabels, labels.SecretType) // the chart's own
	out := map[string]any{
		"hub": c.member.Hub, "owner": c.member.Name, "source": map[string]any{"git": git},
		"localCluster": map[string]any{"labels": anyMap(ownLabels), "annotations": anyMap(c.annotations.All)},
	}
	if token := c.pushedToken(); token != nil {
		out["token"] = token
	}
	return out
}
