package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
)

// rollouts reports conflicts between rollout policies and members, and files in their folder that
// are never read.
func (l *linter) rollouts() {
	if policies := l.st.Fleet.Rollouts; len(policies) > 0 {
		var members []rollout.Member
		for m := range l.st.Clusters() {
			members = append(members, m.InRollout())
		}
		l.problems = append(l.problems, rollout.Coverage(policies, members)...)
		for _, p := range policies {
			l.ringsWithoutEffect(p)
			l.scopeWithoutEffect(p)
		}
	}
	l.strays(rollout.Folder, "rollout policies", rollout.PolicyName)
}

// ringsWithoutEffect reports the rings of a policy whose members follow the newest commit. Agents
// wait for a ring only if the policy includes them.
func (l *linter) ringsWithoutEffect(p *rollout.Policy) {
	if p.Agents {
		return
	}
	first, count := make([]string, len(p.Rings)), make([]int, len(p.Rings))
	for m := range l.st.Clusters() {
		if !p.Covers(m.InRollout()) {
			continue
		}
		groups := slices.Sorted(maps.Keys(l.st.ClusterOf(m).Groups))
		i := slices.IndexFunc(groups, func(g string) bool {
			return p.Scope.CoversPart(g) && m.Owner(g) != fleet.OwnerHub
		})
		if i < 0 {
			continue
		}
		ring := p.RingOf(m.InRollout())
		if count[ring]++; count[ring] == 1 {
			first[ring] = fmt.Sprintf("such as group %s of %s of hub %s", groups[i], m.Name, m.Hub)
		}
	}
	for i, n := range count {
		if n > 0 {
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.InvalidRollout, Severity: problem.Warning, Pos: p.Rings[i].Pos, Subject: fmt.Sprintf("ring %q of rollout %q", p.Rings[i].Name, p.Name),
				Found:    fmt.Sprintf("%d of its members follow the newest commit and wait for no ring, %s: an agent's own engine deploys it", n, first[i]),
				Expected: "members and groups that the engine of a hub deploys, or agents: true",
			})
		}
	}
}

// scopeWithoutEffect reports names of a policy's scope that the fleet does not have. A change that
// they were meant to stage goes everywhere at once.
func (l *linter) scopeWithoutEffect(p *rollout.Policy) {
	report := func(kind, name string, hints []string) {
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.InvalidRollout, Severity: problem.Warning, Pos: p.ScopePos, Subject: fmt.Sprintf("scope of rollout %q", p.Name),
			Found: fmt.Sprintf("names %s %q, which the fleet does not have", kind, name), Expected: "the name of a " + kind, Hints: hints,
		})
	}
	tenants := map[string]bool{}
	for m := range l.st.Clusters() {
		tenants[m.Tenant] = true
	}
	for _, name := range p.Scope.Tenants {
		if !tenants[name] {
			report("tenant", name, problem.Nearest(name, slices.Sorted(maps.Keys(tenants))))
		}
	}
	layout := l.st.Fleet.Layout
	for _, name := range p.Scope.Groups {
		if _, known := layout.Groups[name]; !known {
			report("group", name, problem.Nearest(name, layout.GroupNames()))
		}
	}
	for _, name := range p.Scope.Components {
		if hints, known := l.knows(name); !known {
			report("component", name, hints)
		}
	}
}
