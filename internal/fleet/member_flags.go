package fleet

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
)

// noEffect warns of keys that mean nothing as the others are: most often the one that would give
// them a meaning is missing. What says no more than the default does is left alone.
func (mr *memberReader) noEffect() {
	out := mr.out
	warn := func(key, why, expected string) {
		n := mr.m.Node().Get(key)
		mr.r.Warn(problem.NoEffect, n, fmt.Sprintf("key %q", key), fmt.Sprintf("%q %s", n.Text, why), expected)
	}
	if out.IsHub && mr.m.Bool("githubSecret", false) {
		warn("githubSecret", "has no effect: it comes with the registration of a member", "a Secret on the hub")
	}
	if !out.Remote {
		keys := []string{"use_external_secrets", "push_argo_secrets"}
		for _, g := range mr.layout.GroupNames() {
			keys = append(keys, enableRemote+g)
		}
		if mr.m.Has("remote_engine") && !out.IsHub && (out.Engine == EngineArgoCD || out.Engine == EngineFlux) {
			warn("remote_engine", "has no effect: the hub deploys to this cluster", "use_remote_argo: true beside it")
		}
		for _, key := range keys {
			if mr.m.Bool(key, false) {
				warn(key, "has no effect: the hub deploys to this cluster", "use_remote_argo: true beside it")
			}
		}
		return
	}
	if mr.m.Bool("use_external_secrets", false) && out.PushArgoSecrets {
		warn("use_external_secrets", "has no effect on its credentials: the hub pushes them (push_argo_secrets)", "one of the two")
	}
}

// Effective are the values of the flags that the engine itself acts upon, by the names of their
// labels, and of those that the file declares for others. Whoever selects by such a label has to
// see what the engine does.
func (m *Member) Effective() map[string]string {
	out := map[string]string{"use_remote_argo": fmt.Sprint(m.Remote), "githubSecret": fmt.Sprint(m.GitHubSecret)}
	for group, remote := range m.remoteGroups {
		out[enableRemote+group] = fmt.Sprint(m.Remote && remote)
	}
	if m.Remote {
		out["remote_engine"] = m.Engine
		out["use_external_secrets"], out["push_argo_secrets"] = fmt.Sprint(m.UseExternalSecrets), fmt.Sprint(m.PushArgoSecrets)
	}
	for _, e := range m.FlagLabels { // what has no effect is the label's value all the same (L3)
		out[e.Key] = e.Value
	}
	return out
}

// Contradictions are labels that Git declares with another value than the flag of their name has:
// selectors would follow the label, the engine the flag, and each would give the cluster a half of
// something (L3). The set is the cluster's.
func (m *Member) Contradictions(s labels.Set) []problem.Problem {
	var out []problem.Problem
	for key, value := range m.Effective() {
		pos, declared := s.Origins[key]
		if !declared || s.All[key] == value {
			continue
		}
		p := problem.Problem{
			Reason: problem.ContradictoryLabel, Severity: problem.Error, Pos: pos, Subject: fmt.Sprintf("label %q", key),
			Found: fmt.Sprintf("%q", s.All[key]), Expected: fmt.Sprintf("%q, as the member file does not set the flag", value),
			Hints: []string{"set the flag in the member file; the label of its name follows it"},
		}
		if at := m.KeyPos(key); at.Line > 0 {
			p.Expected, p.Related = fmt.Sprintf("%q, as the flag says", value), []problem.Pos{at}
		}
		out = append(out, p)
	}
	return problem.Sorted(out)
}
