package paramset

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/registration"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// memberSets are the one set of a spoke, what registers it.
func memberSets(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster) (out ClusterSets) {
	deletion, is := lifecycle.RegistrationDeletion(st, q, c)
	if !is {
		return out
	}
	if q.SubjectsOnly && c.LastKnownGood == nil && len(c.Problems) == 0 {
		out.Sets = []Set{&MemberSet{Common: commonOf(c, catalog.ApplicationName(fleetstate.Registration, c.Member.Name)), Deletion: deletion}}
		return out
	}
	s, faults := NewMemberSet(st, c, deletion)
	if out.Problems = relevantProblems(c, faults); s != nil {
		out.Sets = []Set{s}
	}
	return out
}

// NewMemberSet is what registers a member.
func NewMemberSet(st *fleetstate.State, c *fleetstate.Cluster, deletion string) (*MemberSet, []problem.Problem) {
	rel, err := st.ResolverOf(c).Fleet.FleetSecrets.ChooseSource(c.Labels.All)
	if err != nil {
		return nil, c.ReleaseProblems(err, release.FleetSecretsLabel)
	}
	text, err := registration.HubValues(st, c).YAML()
	if err != nil {
		return nil, c.Attribute(problem.From(err, problem.InvalidValue, c.Member.Pos))
	}
	return &MemberSet{
		Common: commonOf(c, catalog.ApplicationName(fleetstate.Registration, c.Member.Name)), SecretManagerSecretName: c.Member.SecretManagerSecret,
		SecretLabels: c.Labels.Declared, SecretAnnotations: c.Annotations.Declared,
		Release: rel.Keys, Source: rel.Source, HelmValues: string(text), ValueFiles: files(c.Registration.Layers()), Deletion: deletion,
	}, nil
}

// files are the paths of layers, in order.
func files(layers []hierarchy.Layer) []string {
	out := []string{}
	for _, l := range layers {
		out = append(out, l.Path)
	}
	return out
}

// relevantProblems are problems that concern somebody: those of a retired member do not.
func relevantProblems(c *fleetstate.Cluster, ps []problem.Problem) []problem.Problem {
	if c.IsRetired() {
		return nil
	}
	return ps
}
