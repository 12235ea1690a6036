package team

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// Table says what all teams of a snapshot have on its members. It is immutable.
type Table struct {
	// Teams are sorted by name.
	Teams  []*Team
	shares map[*fleet.Member]*Share
}

// Share is a member's part of the teams.
type Share struct {
	// Problems are the problems of team files that concern the member.
	Problems []problem.Problem

	isHub       bool
	assignments []assignment // sorted by team
	digest      string
}

// assignment is one team on one member. On a hub, clusters are the clusters that the team reaches.
type assignment struct {
	team     *Team
	clusters []string
	values   *yamldoc.Node
}

// Compute finds the members that each team reaches, and what is wrong where. Teams are sorted by
// name. A member whose file cannot be read keeps its teams, by the member that served returns.
// Otherwise its hub's project would lose a cluster that has applications of the team.
func Compute(f *fleet.Fleet, teams []*Team, served func(*fleet.Member) *fleet.Member) *Table {
	t := &Table{Teams: teams, shares: map[*fleet.Member]*Share{}}
	byTenant, selectables := map[string][]*fleet.Member{}, map[*fleet.Member]map[string]string{}
	var all []*fleet.Member
	for _, hub := range f.Hubs() {
		for _, m := range f.Members(hub) {
			if m.IsHub {
				continue
			}
			as := m
			if served != nil && len(problem.Errors(m.Problems)) > 0 {
				as = cmp.Or(served(m), m)
			}
			byTenant[as.Tenant] = append(byTenant[as.Tenant], m)
			selectables[m] = as.Selectable()
			all = append(all, m)
		}
	}
	for _, team := range teams {
		faults := problem.Errors(team.Problems)
		if p, taken := takenName(team, byTenant); taken {
			faults = append(faults, p)
		}
		if len(faults) > 0 {
			concerned := byTenant[team.Tenant]
			if team.Tenant == "" {
				concerned = all
			}
			t.concern(f, concerned, faults...)
			continue
		}
		reached := map[string][]string{}
		for _, m := range byTenant[team.Tenant] {
			if team.Clusters.Matches(selectables[m]) {
				t.share(m).add(team, nil)
				reached[m.Hub] = append(reached[m.Hub], m.Name)
			}
		}
		for _, hub := range slices.Sorted(maps.Keys(reached)) {
			if self := f.HubMember(hub); self != nil && self.Engine != fleet.EngineFlux { // Flux has no projects
				t.share(self).add(team, reached[hub])
			}
		}
	}
	for _, m := range all {
		if s := t.shares[m]; s != nil {
			if p := s.conflicts(); len(p) > 0 {
				t.concern(f, []*fleet.Member{m}, p...)
			}
		}
	}
	for _, s := range t.shares {
		s.digest = s.sum()
	}
	return t
}

// takenName returns the problem of a team whose project would have the name of a tenant's project.
func takenName(team *Team, byTenant map[string][]*fleet.Member) (problem.Problem, bool) {
	others := byTenant[team.Component()]
	if len(others) == 0 {
		return problem.Problem{}, false
	}
	return problem.Problem{
		Reason: problem.ReservedName, Severity: problem.Error, Pos: team.Pos, Subject: fmt.Sprintf("team %q", team.Name),
		Found: fmt.Sprintf("a tenant is called %q, as the team's project would be", team.Component()), Expected: "another name",
		Related: []problem.Pos{others[0].KeyPos("tenant")},
	}, true
}

func (t *Table) share(m *fleet.Member) *Share {
	s := t.shares[m]
	if s == nil {
		s = &Share{isHub: m.IsHub}
		t.shares[m] = s
	}
	return s
}

// concern gives problems to members and their hubs, to each once.
func (t *Table) concern(f *fleet.Fleet, members []*fleet.Member, problems ...problem.Problem) {
	for _, m := range members {
		t.share(m).concern(problems)
		if self := f.HubMember(m.Hub); self != nil {
			t.share(self).concern(problems)
		}
	}
}

func (s *Share) concern(problems []problem.Problem) {
	for _, p := range problems {
		if !slices.ContainsFunc(s.Problems, func(o problem.Problem) bool { return o.Pos == p.Pos && o.Error() == p.Error() }) {
			s.Problems = append(s.Problems, p)
		}
	}
}

func (s *Share) add(team *Team, clusters []string) {
	values := team.values
	if s.isHub {
		values = team.hubValues(clusters)
	}
	s.assignments = append(s.assignments, assignment{team: team, clusters: clusters, values: values})
}

// conflicts returns the problems of namespaces that several teams of a member claim.
func (s *Share) conflicts() (out []problem.Problem) {
	for i, a := range s.assignments {
		for _, before := range s.assignments[:i] {
			for _, c := range a.team.Claimed {
				if other, claimed := before.team.claims(c); claimed {
					out = append(out, conflict(a.team, c, before.team, other))
				}
			}
		}
	}
	return out
}

func conflict(team *Team, c claim, other *Team, theirs claim) problem.Problem {
	return problem.Problem{
		Reason: problem.NamespaceConflict, Severity: problem.Error, Pos: c.node.Pos(),
		Subject: fmt.Sprintf("namespace %q of team %q", c.text, team.Name), Found: fmt.Sprintf("team %q claims %q on the same cluster", other.Name, theirs.text),
		Expected: "one team a namespace", Related: []problem.Pos{theirs.node.Pos()},
		Hints: []string{"until one of them changes, the cluster keeps the teams that it had"},
	}
}

// Taken returns the problem of a namespace of the platform that a team of the member claims.
func (s *Share) Taken(namespace, group, component string) []problem.Problem {
	if s == nil || s.isHub || group == Group || group == Workloads {
		return nil
	}
	var out []problem.Problem
	for _, a := range s.assignments {
		if c, claimed := a.team.claims(claim{text: namespace}); claimed {
			out = append(out, problem.Problem{
				Reason: problem.NamespaceConflict, Severity: problem.Error, Pos: c.node.Pos(),
				Subject: fmt.Sprintf("namespace %q of team %q", c.text, a.team.Name), Found: fmt.Sprintf("component %q of group %q has namespace %q on the same cluster", component, group, namespace),
				Expected: "a namespace of the team's own",
			})
		}
	}
	return out
}

func (s *Share) sum() string {
	var b strings.Builder
	for _, a := range s.assignments {
		fmt.Fprintln(&b, a.team.Name, a.team.Digest, strings.Join(a.clusters, ","))
	}
	for _, p := range s.Problems {
		fmt.Fprintln(&b, p.Reason, p.Error(), p.Related, p.Hints)
	}
	return b.String()
}

// Of returns a member's part, nil if it has none.
func (t *Table) Of(m *fleet.Member) *Share {
	if t == nil {
		return nil
	}
	return t.shares[m]
}

// Has reports whether a team, which may be nil, is on the member. No team is on a hub.
func (s *Share) Has(t *Team) bool {
	return s != nil && !s.isHub && t != nil && slices.ContainsFunc(s.assignments, func(a assignment) bool { return a.team == t })
}

// Same reports whether two members have the same part.
func (s *Share) Same(other *Share) bool {
	return s == other || s != nil && other != nil && s.digest == other.digest
}

// Reaches reports whether a team is on any member.
func (t *Table) Reaches(team *Team) bool {
	for _, s := range t.shares {
		if slices.ContainsFunc(s.assignments, func(a assignment) bool { return a.team == team }) {
			return true
		}
	}
	return false
}

// Uncordoned returns the problems of a table that lacks teams of an earlier one which were not
// cordoned: they may still deploy there.
func (t *Table) Uncordoned(before *Table) (out []problem.Problem) {
	if before == nil {
		return nil
	}
	for _, team := range before.Teams {
		if t.Team(team.Name) == nil && !team.Cordoned && before.Reaches(team) {
			out = append(out, problem.Problem{
				Reason: problem.InvalidTeam, Severity: problem.Error, Pos: team.Pos, Subject: fmt.Sprintf("team %q", team.Name),
				Found: "is removed and was not cordoned", Expected: "a commit before with " + keyCordoned + ": true", Hints: []string{"docs/how-to/onboard-a-team.md#remove-a-team"},
			})
		}
	}
	return out
}

// Has reports whether a component is a team.
func (t *Table) Has(component string) bool {
	return t != nil && slices.ContainsFunc(t.Teams, func(team *Team) bool { return team.Component() == component })
}
