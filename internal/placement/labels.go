package placement

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Labels computes a cluster's labels and annotations from the facts, the member file and the
// hierarchy, whose declared ones are given.
func Labels(f *fleet.Fleet, m *fleet.Member, known facts.Cluster, declaredLabels, declaredAnnotations []labels.Entry) (l, a labels.Set, problems []problem.Problem) {
	l, problems = labels.Compute(labels.Input{
		Kind: labels.Label, Live: known.Labels, Declared: slices.Concat(declaredLabels, m.FlagLabels, m.Labels), Reserved: reserved(m),
	})
	a, more := labels.Compute(labels.Input{
		Kind: labels.Annotation, Live: known.Annotations, Declared: annotations(f, m, declaredAnnotations),
	})
	return l, a, append(problems, more...)
}

// annotations are what Git declares for a member, least specific first: the hub's repository keys,
// the hierarchy's annotations, the member's own repository keys and annotations.
func annotations(f *fleet.Fleet, m *fleet.Member, fromHierarchy []labels.Entry) []labels.Entry {
	var inherited []labels.Entry
	if self := f.HubMember(m.Hub); self != nil && self != m {
		inherited = self.RepositoryAnnotations
	}
	return slices.Concat(inherited, fromHierarchy, m.RepositoryAnnotations, m.Annotations)
}

// reserved are the labels that cannot be declared otherwise (L1).
func reserved(m *fleet.Member) map[string]string {
	kind := fleet.Spoke
	if m.IsHub {
		kind = fleet.HubCluster
	}
	out := map[string]string{labels.SecretType: labels.SecretTypeValue, labels.FleetMember: kind, labels.Tenant: m.Tenant}
	if m.Environment != "" {
		out[labels.Environment] = m.Environment
	}
	return out
}
