package fleet

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/labels"
)

// noEffect warns of keys without effect beside the others: most often another key is missing. Keys
// that say no more than the default are not reported.
func (mr *memberReader) noEffect() {
	out := mr.Member
	warn := func(key, why, expected string) {
		n := mr.at.Node.Get(key)
		mr.at.Warn(problem.NoEffect, n, fmt.Sprintf("key %q", key), fmt.Sprintf("%q %s", n.Text(), why), expected)
	}
	if out.IsHub && mr.at.Flag("githubSecret") {
		warn("githubSecret", "has no effect: it comes with the registration of a member", "a Secret on the hub")
	}
	if !out.Remote {
		keys := []string{"push_argo_secrets"}
		for _, g := range mr.layout.GroupNames() {
			keys = append(keys, enableRemote+g)
		}
		if mr.at.Has("remote_engine") && !out.IsHub && (out.Engine == EngineArgoCD || out.Engine == EngineFlux) {
			warn("remote_engine", "has no effect: the hub deploys to this cluster", "use_remote_argo: true beside it")
		}
		for _, key := range keys {
			if mr.at.Flag(key) {
				warn(key, "has no effect: the hub deploys to this cluster", "use_remote_argo: true beside it")
			}
		}
		return
	}
	if mr.at.Flag("use_external_secrets") && out.PushArgoSecrets {
		warn("use_external_secrets", "has no effect on its credentials: the hub pushes them (push_argo_secrets)", "one of the two")
	}
}

// Effective returns the values that the resolver uses for flags, by the names of their labels, and
// the flags that the file declares for others. A selector by such a label has to see the value that
// the resolver uses.
func (m *Member) Effective() map[string]string {
	out := map[string]string{"use_remote_argo": fmt.Sprint(m.Remote), "githubSecret": fmt.Sprint(m.GitHubSecret)}
	for group, remote := range m.remoteGroups {
		out[enableRemote+group] = fmt.Sprint(m.Remote && remote)
	}
	if m.Remote {
		out["remote_engine"] = m.Engine
		out["use_external_secrets"], out["push_argo_secrets"] = fmt.Sprint(m.UseExternalSecrets), fmt.Sprint(m.PushArgoSecrets)
	}
	for _, e := range m.FlagLabels { // a flag without effect is a label all the same
		out[e.Key] = e.Value
	}
	return out
}

// Contradictions reports labels that Git declares with another value than the flag of their name.
// Selectors would follow the label and the resolver the flag, and the cluster would get half of
// each. The set is the cluster's.
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
