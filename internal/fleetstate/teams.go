package fleetstate

import (
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/team"
)

// loadTeams reads the team files. What did not change since the previous resolver, which may be
// nil, is taken from it.
func (b *Resolver) loadTeams(previous *Resolver, served func(*fleet.Member) *fleet.Member) (err error) {
	before := team.Previous{Served: served}
	if previous != nil {
		before.Fleet, before.Table = previous.Fleet, previous.teams
	}
	b.teams, err = team.Load(b.Snapshot, b.Documents, b.Fleet, b.Catalogs[team.Group], before)
	b.apps = team.ReadApps(b.Fleet.Layout, b.Catalogs[team.Workloads], b.teams)
	if b.teams == nil {
		return err
	}
	for _, t := range b.teams.Teams { // what lands on the hub by the entry of all teams
		for _, entry := range []string{team.MemberEntry, team.HubEntry} {
			if schema := b.onHub[team.Group+"/"+entry]; schema != nil && b.onHub[team.Group+"/"+t.Component()] == nil {
				b.onHub[team.Group+"/"+t.Component()] = schema
			}
		}
	}
	return nil
}

// servedBy finds members as they were served before a snapshot, or before a restart.
func servedBy(previous *State, homes LastKnownGood) func(*fleet.Member) *fleet.Member {
	return func(m *fleet.Member) *fleet.Member {
		if previous == nil {
			return team.Served(homes[ID{m.Hub, m.Name}], m)
		}
		if c := previous.Cluster(m.Hub, m.Name); c != nil {
			return c.Member
		}
		return nil
	}
}

// Apps are the applications of teams, nil without the group workloads.
func (b *Resolver) Apps() *team.Apps { return b.apps }

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
