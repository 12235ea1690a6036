package rollout

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Coverage reports what is wrong between policies and members: scopes that overlap, members of no
// ring or of several, and rings without members. None of it stops the service, which puts such
// members into the last ring that applies: a tenant's file must not stop the others.
func Coverage(policies []*Policy, members []Member) []problem.Problem {
	var out []problem.Problem
	report := func(severity problem.Severity, pos problem.Pos, subject, found, expected string) {
		out = append(out, problem.Problem{Reason: problem.InvalidRollout, Severity: severity, Pos: pos, Subject: subject, Found: found, Expected: expected})
	}
	for i, p := range policies {
		for _, q := range policies[:i] {
			if p.Scope.Overlaps(q.Scope) {
				report(problem.Error, p.Pos, fmt.Sprintf("rollout %q", p.Name), fmt.Sprintf("its scope overlaps with the scope of rollout %q, whose rings count", q.Name), "each group of a tenant in one rollout")
			}
		}
		selected := make([]int, len(p.Rings))
		for _, m := range members {
			if !p.Covers(m) {
				continue
			}
			found := p.matching(m)
			for _, ring := range found {
				selected[ring]++
			}
			last := p.Rings[p.RingOf(m)].Name
			switch {
			case len(found) == 0:
				report(problem.Error, p.Pos, fmt.Sprintf("member %q of hub %q", m.Name, m.Hub), fmt.Sprintf("no ring of rollout %q selects it; it counts as a member of the last, %q", p.Name, last), "one ring")
			case len(found) > 1:
				var names []string
				for _, ring := range found {
					names = append(names, p.Rings[ring].Name)
				}
				report(problem.Error, p.Rings[found[1]].Pos, fmt.Sprintf("member %q of hub %q", m.Name, m.Hub), fmt.Sprintf("the rings %s of rollout %q select it; it counts as a member of %q", strings.Join(names, " and "), p.Name, last), "one ring")
			}
		}
		for ring, n := range selected {
			if n == 0 {
				report(problem.Warning, p.Rings[ring].Pos, fmt.Sprintf("ring %q of rollout %q", p.Rings[ring].Name, p.Name), "selects no member", "at least one: it would prove nothing")
			}
		}
	}
	return out
}
