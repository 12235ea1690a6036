package team

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Workloads is the group whose components are applications of teams.
const Workloads = fleet.Workloads

// Keys of an application's entry in the layout's catalogs of the group. Levels have neither.
const (
	KeyTeam    = "team"
	KeyProject = "project"
)

// Apps are the applications of all teams, as the layout's catalogs of the group name them.
type Apps struct {
	// Projects are the problems of entries whose project is not their team's. Such a project has no
	// effect.
	Projects []problem.Problem

	faults []problem.Problem
	names  map[string]string // of teams, by application; an unknown team is a fault
	teams  map[string]*Team  // by application

	mu    sync.Mutex
	known map[string][]hierarchy.Layer // the catalogs of members, by the teams that they have
}

// ReadApps finds the team of each application in the layout's catalogs; the later catalog wins. It
// returns nil where the layout has no such group.
func ReadApps(layout *fleet.Layout, catalogs []hierarchy.Layer, t *Table) *Apps {
	if _, ok := layout.Groups[Workloads]; !ok {
		return nil
	}
	a := &Apps{names: map[string]string{}, teams: map[string]*Team{}, known: map[string][]hierarchy.Layer{}}
	for _, name := range catalog.Layers(catalogs).Components() {
		a.read(name, catalogs, t)
	}
	return a
}

// read finds the team of an application: the one that the last catalog names, else the one whose
// project the first names.
func (a *Apps) read(name string, catalogs []hierarchy.Layer, t *Table) {
	var named *yamldoc.Node
	var place problem.Pos
	for _, l := range catalogs {
		entries := catalog.Entries(l.Root)
		e := entries.Get(name)
		if e == nil {
			continue
		}
		place = entries.KeyPos(name)
		p := e.Get(KeyProject)
		ofProject := strings.TrimPrefix(p.Text(), componentPrefix)
		if n := e.Get(KeyTeam); !n.IsNull() {
			named = n
		} else if named == nil && !p.IsNull() && t.Team(ofProject) != nil {
			named = yamldoc.ScalarAt(p, yamldoc.String, ofProject)
		}
		a.project(name, p, t.Team(named.Text()), named)
	}
	subject := fmt.Sprintf("component %q of group %q", name, Workloads)
	switch {
	case named == nil:
		a.invalid(place, subject, "has no team", "team: "+t.names())
		return
	case named.Kind != yamldoc.String || t.Team(named.Text()) == nil:
		a.invalid(named.Pos(), subject, fmt.Sprintf("there is no team %q", named.Text()), t.names(), problem.Nearest(named.Text(), t.Names())...)
	default:
		a.teams[name] = t.Team(named.Text())
	}
	a.names[name] = named.Text()
}

func (a *Apps) invalid(pos problem.Pos, subject, found, expected string, hints ...string) {
	a.faults = append(a.faults, problem.Problem{
		Reason: problem.InvalidApp, Severity: problem.Error, Pos: pos, Subject: subject, Found: found, Expected: expected, Hints: hints,
	})
}

// project reports an entry whose project is not its team's.
func (a *Apps) project(app string, p *yamldoc.Node, of *Team, named *yamldoc.Node) {
	if p.IsNull() || of == nil || p.Text() == of.Component() {
		return
	}
	a.Projects = append(a.Projects, problem.Problem{
		Reason: problem.InvalidApp, Severity: problem.Error, Pos: p.Pos(), Subject: fmt.Sprintf("project of component %q of group %q", app, Workloads),
		Found: fmt.Sprintf("%q is not the one of team %q", p.Text(), of.Name), Expected: "no project: it is " + of.Component(), Related: []problem.Pos{named.Pos()},
	})
}

// Faults returns the problems of entries without a valid team. They concern every member: an
// application must not look as if it had been removed.
func (a *Apps) Faults() []problem.Problem {
	if a == nil {
		return nil
	}
	return a.faults
}

// noProject is the project of an application without a team: Argo CD has no project of that name,
// and so leaves the application as it is.
const noProject = "no-team"

// Project returns an application's project in Argo CD.
func (a *Apps) Project(app string) string {
	if name := a.names[app]; labels.IsName(name) {
		return componentPrefix + name
	}
	return noProject
}

// Team returns an application's team, nil where no catalog names a team that exists.
func (a *Apps) Team(app string) *Team {
	if a == nil {
		return nil
	}
	return a.teams[app]
}

// Owner returns the name of the team whose application a component is; empty for none.
func (a *Apps) Owner(group, component string) string {
	if t := a.Team(component); t != nil && group == Workloads {
		return t.Name
	}
	return ""
}

// catalogs returns a member's catalogs of the group, with the layout's entries only of teams on the
// member.
func (a *Apps) catalogs(s *Share, layers []hierarchy.Layer) []hierarchy.Layer {
	n := len(catalog.Layers(layers).OfLayout())
	return slices.Concat(a.filtered(s, layers[:n]), layers[n:])
}

// filtered returns the layout's catalogs for a member's teams. Members with the same teams share
// them.
func (a *Apps) filtered(s *Share, layers []hierarchy.Layer) []hierarchy.Layer {
	key := strings.Join(s.teams(), " ")
	a.mu.Lock()
	defer a.mu.Unlock()
	if out, known := a.known[key]; known {
		return out
	}
	var out []hierarchy.Layer
	for _, l := range layers {
		entries := catalog.Entries(l.Root)
		var fields []yamldoc.Field
		for _, f := range entries.Fields() {
			if s.Has(a.teams[f.Key]) {
				fields = append(fields, f)
			}
		}
		if len(fields) > 0 { // a catalog without entries for the member is left out
			l.Root = yamldoc.MapAt(entries, fields)
			out = append(out, l)
		}
	}
	a.known[key] = out
	return out
}

// Problems returns the problems of team files, or of applications, that concern a member's group.
// Where no earlier snapshot is known, they leave the group without a response: an unreadable team,
// with its applications, must not look as if it had been removed.
func Problems(t *Table, a *Apps, m *fleet.Member, group string, catalogs []hierarchy.Layer) (out []problem.Problem) {
	s := t.Of(m)
	switch {
	case group == Group && s != nil:
		return s.Problems
	case group == Workloads && a != nil:
		if !m.IsHub {
			out = slices.Clone(a.faults)
		}
		if s != nil {
			out = append(out, s.Problems...)
		}
		return append(out, a.outside(s, catalogs)...)
	}
	return nil
}

// Catalogs returns a member's catalogs of a group. Catalogs of the groups teams and workloads
// depend on the member's teams.
func Catalogs(t *Table, a *Apps, m *fleet.Member, group string, layers []hierarchy.Layer) []hierarchy.Layer {
	switch {
	case group == Group && t != nil:
		return t.Of(m).Catalogs(layers)
	case group == Workloads && a != nil:
		return a.catalogs(t.Of(m), layers)
	}
	return layers
}

// outside reports levels of a member that switch an application on where its team is not.
func (a *Apps) outside(s *Share, layers []hierarchy.Layer) (out []problem.Problem) {
	for _, l := range layers {
		if l.Level == catalog.Level {
			continue
		}
		for _, f := range catalog.Entries(l.Root).Fields() {
			on, ok := f.Value.Get(catalog.KeyEnabled).Truth()
			t := a.teams[f.Key]
			if !ok || !on || s.Has(t) || t != nil && t.root == nil { // no root: its file cannot be read
				continue
			}
			p := problem.Problem{
				Reason: problem.InvalidApp, Severity: problem.Error, Pos: f.Value.Get(catalog.KeyEnabled).Pos(), Subject: fmt.Sprintf("component %q of group %q", f.Key, Workloads),
				Found: "no catalog of the layout has it, so that it has no team", Expected: "an entry with its team, as argosy new app writes it",
			}
			if t != nil {
				p.Found, p.Expected = fmt.Sprintf("its team %q is not on this cluster", t.Name), "a cluster that the team's file selects"
				p.Related = []problem.Pos{t.root.KeyPos("clusters")}
			}
			out = append(out, p)
		}
	}
	return out
}

// Engine is how the engine of a member's applications limits them.
type Engine int

// The engines.
const (
	// NoProject is Argo CD of a member, where the team has no project: it does not limit them.
	NoProject Engine = iota
	// HasProject is Argo CD of a hub: the team's project names clusters, namespaces, repositories.
	HasProject
	// Impersonates is Flux: it applies with the rights of the team's ServiceAccount, from any
	// repository.
	Impersonates
)

// EngineOf returns the engine of a member's applications, by whether it is Flux, and the hub's.
func EngineOf(isFlux, isHubs bool) Engine {
	switch {
	case isFlux:
		return Impersonates
	case isHubs:
		return HasProject
	}
	return NoProject
}

// Misplaced returns what keeps an application from a member: an engine that does not limit its
// team, a namespace that is not its team's, or a repository that its team's file does not name.
func (a *Apps) Misplaced(app, namespace string, repositories []string, entry *yamldoc.Node, engine Engine) []problem.Problem {
	t := a.Team(app)
	if t == nil {
		return nil
	}
	if engine == NoProject {
		return []problem.Problem{{
			Reason: problem.UnsupportedEngine, Severity: problem.Error, Pos: entry.Pos(), Subject: fmt.Sprintf("component %q of group %q", app, Workloads),
			Found: "is deployed by an engine that has no project of the team", Expected: "Argo CD of the hub: a member file without enable_remote_" + Workloads + "; or Flux",
		}}
	}
	for _, r := range repositories { // Argo CD's project admits more than Allows does
		if !t.Allows(r) {
			return []problem.Problem{t.foreignRepository(app, r, entry)}
		}
	}
	if t.Claims(namespace) {
		return nil
	}
	pos := entry.Pos()
	if n := entry.Get(catalog.KeyNamespace); !n.IsNull() {
		pos = n.Pos()
	}
	return []problem.Problem{{
		Reason: problem.InvalidApp, Severity: problem.Error, Pos: pos, Subject: fmt.Sprintf("namespace of component %q of group %q", app, Workloads),
		Found: fmt.Sprintf("%q is not one of team %q", namespace, t.Name), Expected: "one of " + strings.Join(t.Namespaces(), ", "),
		Related: []problem.Pos{t.root.KeyPos("namespaces")},
	}}
}

// foreignRepository returns the problem of an application from a repository that its team's file
// does not name.
func (t *Team) foreignRepository(app, repository string, entry *yamldoc.Node) problem.Problem {
	pos := entry.Pos()
	if n := entry.Get(catalog.KeyChart).Get("repoURL"); !n.IsNull() {
		pos = n.Pos()
	}
	for _, companion := range entry.Get(catalog.KeyCompanions).Fields() {
		if n := companion.Value.Get(catalog.KeyChart).Get("repoURL"); !n.IsNull() && n.Text() == repository {
			pos = n.Pos()
		}
	}
	return problem.Problem{
		Reason: problem.InvalidApp, Severity: problem.Error, Pos: pos, Subject: fmt.Sprintf("repository of component %q of group %q", app, Workloads),
		Found: fmt.Sprintf("%s is not one of team %q", repository, t.Name), Expected: "one of the repositories in " + t.Pos.File,
	}
}

// Lacks reports whether a component is a team's, or a team's application, and the team is not on
// the member: then neither a query nor a level switches it on.
func (s *Share) Lacks(t *Table, a *Apps, group, component string) bool {
	switch group {
	case Group:
		return t.Has(component) && s.Values(component) == nil
	case Workloads:
		return !s.Has(a.Team(component))
	}
	return false
}

// teams returns the names of the teams on the member.
func (s *Share) teams() (out []string) {
	if s == nil || s.isHub {
		return nil
	}
	for _, a := range s.assignments {
		out = append(out, a.team.Name)
	}
	return out
}

// Team returns the team with a name, nil if there is none.
func (t *Table) Team(name string) *Team {
	if t == nil {
		return nil
	}
	if i := slices.IndexFunc(t.Teams, func(team *Team) bool { return team.Name == name }); i >= 0 {
		return t.Teams[i]
	}
	return nil
}

// IsOnAll reports whether the team is on all clusters of a tenant, future ones included.
func (t *Team) IsOnAll(tenant string) bool { return tenant == t.Tenant && t.Clusters.IsEmpty() }

// Names returns the names of all teams; none of a nil table.
func (t *Table) Names() (out []string) {
	if t != nil {
		for _, team := range t.Teams {
			out = append(out, team.Name)
		}
	}
	return out
}

// names returns the names of all teams, for an error.
func (t *Table) names() string {
	if all := t.Names(); len(all) > 0 {
		return "one of " + problem.Truncate(strings.Join(all, ", "), 200)
	}
	return "a file in " + Folder
}

// Names returns the applications that have a team, sorted.
func (a *Apps) Names() []string {
	if a == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(a.teams))
}

// Namespaces returns the team's namespaces, and its prefixes followed by `*`.
func (t *Team) Namespaces() (out []string) {
	for _, c := range t.Claimed {
		if c.isPrefix {
			c.text += "*"
		}
		out = append(out, c.text)
	}
	return out
}

// Namespace returns the namespace for an application that names none: the team's only one, or the
// one with the application's name; empty if there is neither.
func (t *Team) Namespace(app string) string {
	var named []string
	for _, c := range t.Claimed {
		if !c.isPrefix {
			named = append(named, c.text)
		}
	}
	switch {
	case slices.Contains(named, app):
		return app
	case len(named) == 1:
		return named[0]
	}
	return ""
}
