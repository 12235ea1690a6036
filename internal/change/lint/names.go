package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// nameKey is an Application's name in one engine.
type nameKey struct{ hub, owner, name string }

// namedBy describes an Application's subject, and where it is declared.
type namedBy struct {
	what string
	pos  problem.Pos
}

// name reports two Applications with the same name. Names are not unique by themselves, and all
// Applications of an engine are in one namespace, whatever view they come from.
func (l *linter) name(key nameKey, by namedBy, m *fleet.Member) {
	other, taken := l.names[key]
	switch {
	case !taken:
		l.names[key] = by
	case other.what != by.what: // a release belongs to many clusters
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.DuplicateName, Severity: problem.Warning, Pos: by.pos, Subject: fmt.Sprintf("Application %q", key.name),
			Found: fmt.Sprintf("is %s and %s", by.what, other.what), Expected: "one name for each", Related: []problem.Pos{other.pos}, Hub: m.Hub, Cluster: m.Name,
		})
	}
}

// component claims the name of a component's Application (view components), unless an error says
// that the name is taken.
func (l *linter) component(c *fleetstate.Cluster, group, component string) {
	m := c.Member
	if slices.ContainsFunc(c.Problems, func(p problem.Problem) bool { return p.Reason == problem.DuplicateName }) {
		return
	}
	what := fmt.Sprintf("component %q of group %q on cluster %q", component, group, m.Name)
	l.name(nameKey{m.Hub, m.Owner(group), catalog.ApplicationName(component, m.Name)}, namedBy{what, m.Pos}, m)
}

// ownNames claims the names of the Applications that are about the member itself (views members,
// agents) and of its releases (view releases).
func (l *linter) ownNames(c *fleetstate.Cluster) {
	m := c.Member
	if m.Lifecycle == fleet.Retired || len(c.Broken) > 0 {
		return
	}
	claim := func(owner, name, what string, pos problem.Pos) {
		l.name(nameKey{m.Hub, owner, name}, namedBy{what, pos}, m)
	}
	if !m.IsHub {
		claim(fleet.OwnerHub, catalog.ApplicationName(fleetstate.Registration, m.Name), fmt.Sprintf("the registration of cluster %q", m.Name), m.Pos)
	}
	if m.Remote {
		claim(fleet.OwnerHub, catalog.ApplicationName(fleetstate.Agent, m.Name), fmt.Sprintf("the agent of cluster %q", m.Name), m.Pos)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		if g := c.Groups[name]; len(g.Errors) == 0 {
			pos := g.Release.Pos
			if pos.IsZero() { // no versions file
				pos = m.Pos
			}
			claim(m.Owner(name), catalog.ReleaseApplicationName(name, g.Release.Type), fmt.Sprintf("release %q of group %q", g.Release.Type, name), pos)
		}
	}
}
