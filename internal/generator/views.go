package generator

import (
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/release"
)

// registrationSets are the one set of a spoke, what registers it.
func memberSets(st *State, q query, c *Cluster) (out ClusterSets) {
	deletion, is := RegistrationDeletion(st, q, c)
	if !is {
		return out
	}
	s, faults := NewMemberSet(st, c, deletion)
	if out.Problems = relevantProblems(c, faults); s != nil {
		out.Sets = []ParameterSet{s}
	}
	return out
}

// NewMemberSet is what registers a member.
func NewMemberSet(st *State, c *Cluster, deletion string) (*MemberSet, []problem.Problem) {
	rel, err := st.ResolverOf(c).Fleet.FleetSecrets.Choose(c.Labels.All)
	if err != nil {
		return nil, c.UnknownRelease(err, release.FleetSecretsLabel)
	}
	text, err := HubValues(st, c).YAML()
	if err != nil {
		return nil, c.Attribute(problem.From(err, problem.InvalidValue, c.Member.Pos))
	}
	return &MemberSet{
		Common: commonOf(c, ApplicationName(Registration, c.Member.Name)), SecretManagerSecretName: c.Member.SecretManagerSecret,
		SecretLabels: c.Labels.Declared, SecretAnnotations: c.Annotations.Declared,
		Release: rel.Keys, Source: rel.Source, HelmValues: string(text), ValueFiles: files(c.Registration.Layers()), Deletion: deletion,
	}, nil
}

// files are the paths of the layers that are there, in order.
func files(layers []hierarchy.Layer) []string {
	out := []string{}
	for _, l := range layers {
		if !l.Missing() {
			out = append(out, l.Path)
		}
	}
	return out
}

// concerns are problems that concern somebody: those of a retired member do not.
func relevantProblems(c *Cluster, ps []problem.Problem) []problem.Problem {
	if c.IsRetired() {
		return nil
	}
	return ps
}
