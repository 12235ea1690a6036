package fleet

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
)

// maxRollouts bounds the policies of a repository.
const maxRollouts = 50

// loadRollouts reads the rollout policies. An error in any policy makes the whole snapshot
// unusable: the ring that a change has to wait for would be unknown.
func (f *Fleet) loadRollouts(s *snapshot.Snapshot, cache *hierarchy.Cache) error {
	var problems problem.List
	if folder := s.BrokenFolder(rollout.Folder); folder != nil {
		return problem.List(problem.From(folder.Err, problem.LimitExceeded, problem.Pos{File: folder.Path}))
	}
	for _, file := range s.EntriesUnder(rollout.Folder) {
		if _, is := rollout.PolicyName(file.Path); !is {
			continue
		}
		doc, err := cache.Doc(file)
		p, found := rollout.Parse(file, doc, err)
		problems = append(problems, problem.Errors(found)...)
		if f.Rollouts = append(f.Rollouts, p); len(f.Rollouts) > maxRollouts {
			problems = append(problems, problem.Problem{Reason: problem.LimitExceeded, Severity: problem.Error, Pos: p.Pos, Found: "more rollout policies than 50", Expected: "at most 50"})
			break
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// InRollout returns what a rollout policy sees of a member.
func (m *Member) InRollout() rollout.Member {
	return rollout.Member{Hub: m.Hub, Name: m.Name, Tenant: m.Tenant, IsHub: m.IsHub, Labels: m.Selectable()}
}

// Selectable returns the labels that the selectors of rings and teams see: only what the member's
// file says, so that the choice is a function of the repository.
func (m *Member) Selectable() map[string]string {
	out := map[string]string{}
	for _, e := range slices.Concat(m.FlagLabels, m.Labels) {
		out[e.Key] = e.Value
	}
	out[labels.Tenant], out[labels.Environment] = m.Tenant, m.Environment
	out["cluster"], out["hub"] = m.Name, m.Hub
	return out
}
