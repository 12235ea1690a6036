package fleetstate

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/team"
)

// loadTeams reads the team files, where the layout has the group. What did not change since the
// previous resolver, which may be nil, is taken from it.
func (b *Resolver) loadTeams(previous *Resolver) error {
	if _, ok := b.Fleet.Layout.Groups[team.Group]; !ok {
		return nil
	}
	for _, folder := range b.Snapshot.BrokenFolders() {
		if folder.Path == team.Folder { // whose teams would look as if they had gone (G1)
			return problem.List(problem.From(folder.Err, problem.LimitExceeded, problem.Pos{File: folder.Path}))
		}
	}
	var files []*snapshot.File
	for _, f := range b.Snapshot.FilesUnder(team.Folder) {
		if _, ok := team.Name(f.Path); ok {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil
	}
	if err := b.lackingTeamEntries(); err != nil {
		return err
	}
	known := map[string]*team.Team{}
	if previous != nil && previous.teams != nil && previous.Fleet.Layout == b.Fleet.Layout {
		for _, t := range previous.teams.Teams {
			known[t.Pos.File+" "+t.Digest] = t
		}
	}
	teams, isSame := make([]*team.Team, len(files)), len(known) == len(files)
	for i, f := range files { // in order of their paths, and so of the teams' names
		if teams[i] = known[f.Path+" "+f.Digest]; teams[i] == nil {
			doc, err := b.Documents.Doc(f)
			teams[i], isSame = team.Parse(f, doc, err), false
		}
	}
	if isSame && previous.Fleet.HasMembersOf(b.Fleet) {
		b.teams = previous.teams
	} else {
		b.teams = team.Compute(b.Fleet, teams)
	}
	for _, t := range teams { // what lands on the hub by the entry of all teams
		for _, entry := range []string{team.MemberEntry, team.HubEntry} {
			if schema := b.onHub[team.Group+"/"+entry]; schema != nil && b.onHub[team.Group+"/"+t.Component()] == nil {
				b.onHub[team.Group+"/"+t.Component()] = schema
			}
		}
	}
	return nil
}

// lackingTeamEntries reports the entries that every team needs, where no catalog has them.
func (b *Resolver) lackingTeamEntries() error {
	var out problem.List
	for _, entry := range []string{team.MemberEntry, team.HubEntry} {
		if !slices.ContainsFunc(b.Catalogs[team.Group], func(l hierarchy.Layer) bool { return catalog.Entries(l.Root).Get(entry) != nil }) {
			out = append(out, problem.Problem{
				Reason: problem.IncompleteCatalog, Severity: problem.Error, Pos: b.Fleet.Layout.Groups[team.Group].Pos, Subject: "group " + team.Group,
				Found: fmt.Sprintf("has team files, and no catalog with the entry %q", entry), Expected: "catalog: charts/application-sets/catalogs/teams.yaml, or one with this entry",
			})
		}
	}
	if len(out) > 0 {
		return out
	}
	return nil
}

// addTeams puts the teams of a cluster into its group.
func (b *Resolver) addTeams(c *Cluster, g *Group) {
	if g.Name == team.Group && b.teams != nil {
		g.Catalogs = b.teams.Of(c.Member).Catalogs(g.Catalogs)
	}
}

// teamProblems are those of team files that concern a cluster.
func (b *Resolver) teamProblems(c *Cluster) []problem.Problem {
	if s := b.teams.Of(c.Member); s != nil {
		return c.Attribute(s.Problems)
	}
	return nil
}

// takenNamespaces are the problems of teams that claim the namespace of a component of the catalog.
func (b *Resolver) takenNamespaces(c *Cluster, g *Group, component string, r Component) []problem.Problem {
	if !r.Enabled || g.Name == team.Group || !g.InCatalog(component) {
		return nil
	}
	return c.Attribute(b.teams.Of(c.Member).Taken(r.Namespace, g.Name, component))
}

// Teams are those of the snapshot, nil without any.
func (b *Resolver) Teams() *team.Table { return b.teams }

// changedTeams goes through the members of which team files say something else than before.
func (st *State) changedTeams(previous *State, due func(*fleet.Member)) {
	before, now := previous.resolver.teams, st.resolver.teams
	if before == now {
		return
	}
	for hub := range st.clusters {
		for _, m := range st.Fleet.Members(hub) {
			if old := previous.Fleet.Member(hub, m.Name); (before == nil) != (now == nil) || !before.Of(old).Same(now.Of(m)) {
				due(m)
			}
		}
	}
}
