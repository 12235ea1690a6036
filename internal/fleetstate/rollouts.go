package fleetstate

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/rollout"
)

// maxRollouts bounds the policies of a repository (H10).
const maxRollouts = 50

// loadRollouts reads the rollout policies. What did not change since the previous resolver, which
// may be nil, is taken from it. An error in any of them makes the snapshot unusable as a whole:
// nobody could say which ring a change has to wait for.
func (b *Resolver) loadRollouts(previous *Resolver) error {
	var problems problem.List
	for _, folder := range b.Snapshot.BrokenFolders() {
		if folder.Path == rollout.Folder {
			return problem.List(problem.From(folder.Err, problem.LimitExceeded, problem.Pos{File: folder.Path}))
		}
	}
	for _, f := range b.Snapshot.FilesUnder(rollout.Folder) {
		if _, is := rollout.PolicyName(f.Path); !is {
			continue
		}
		var p *rollout.Policy
		if previous != nil {
			if i := slices.IndexFunc(previous.rollouts, func(p *rollout.Policy) bool { return p.IsOf(f) }); i >= 0 {
				p = previous.rollouts[i]
			}
		}
		if p == nil {
			doc, err := b.Documents.Doc(f)
			var found []problem.Problem
			p, found = rollout.Parse(f, doc, err)
			problems = append(problems, problem.Errors(found)...)
		}
		if b.rollouts = append(b.rollouts, p); len(b.rollouts) > maxRollouts {
			problems = append(problems, problem.Problem{Reason: problem.LimitExceeded, Severity: problem.Error, Pos: p.Pos, Found: "more rollout policies than 50", Expected: "at most 50"})
			break
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// Rollouts are the rollout policies of the snapshot, sorted by name.
func (b *Resolver) Rollouts() []*rollout.Policy { return b.rollouts }

// RolloutMember is what a rollout policy sees of a member.
func RolloutMember(m *fleet.Member) rollout.Member {
	out := rollout.Member{Hub: m.Hub, Name: m.Name, Tenant: m.Tenant, IsHub: m.IsHub, Labels: map[string]string{}}
	for _, e := range slices.Concat(m.FlagLabels, m.Labels) {
		out.Labels[e.Key] = e.Value
	}
	out.Labels[labels.Tenant], out.Labels[labels.Environment] = m.Tenant, m.Environment
	out.Labels["cluster"], out.Labels["hub"] = m.Name, m.Hub
	return out
}

// RolloutProblems are what lint reports between policies and members.
func (st *State) RolloutProblems() []problem.Problem {
	policies := st.resolver.rollouts
	if len(policies) == 0 {
		return nil
	}
	var members []rollout.Member
	for m := range st.Clusters() {
		members = append(members, RolloutMember(m))
	}
	return rollout.Coverage(policies, members)
}
