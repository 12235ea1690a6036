package fleetstate

import (
	"path"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/placement"
)

// A commit touches few clusters. What a State takes from the one before costs a copy of pointers,
// and a look at the folders of each cluster.

// anew is a member whose cluster is to be computed.
type anew struct {
	member *fleet.Member
	at     int                  // among its hub's
	place  *placement.Placement // if that is as it was, else nil
}

// takeOver takes over the clusters of a previous state, which may be nil, but for those that depend
// on anything that has changed: they are nil still, and returned. No member is held before it is
// judged.
func (st *State) takeOver(previous *State) []anew {
	t := taking{st: st, previous: previous}
	st.clusters = make(map[string][]*Cluster)
	for _, hub := range st.Fleet.Hubs() {
		t.hub(hub)
	}
	if previous == nil || previous.Fleet.Layout != st.Fleet.Layout {
		return t.anew
	}
	if !previous.facts.EqualClusters(st.facts) {
		for m := range st.Clusters() {
			before, wasRegistered := previous.facts.Of(m.Name)
			if now, registered := st.facts.Of(m.Name); wasRegistered != registered || !before.Equal(now) {
				t.due(m, false)
			}
		}
	}
	for _, x := range previous.exceptions {
		if x.cluster.Desired().Member.Provision != nil { // whether it stays so is decided again
			t.due(x.member, true)
		} else if at, _ := st.Fleet.Place(x.member.Hub, x.member.Name); x.cluster.isHeld && st.ClusterOf(x.member) == x.cluster {
			st.clusters[x.member.Hub][at] = x.cluster.desired
		}
	}
	if previous.resolver.Snapshot == st.resolver.Snapshot {
		return t.anew
	}
	placed := len(st.Fleet.Layout.Mounts) == 0 // else teams and catalogs say whose levels a member reads
	st.changedTeams(previous, func(m *fleet.Member) { t.due(m, placed) })
	if !previous.Fleet.HasMembersOf(st.Fleet) {
		st.changedNames(previous, func(m *fleet.Member) { t.due(m, true) })
	}
	st.changedMounts(previous, func(m *fleet.Member) { t.due(m, true) })
	before, now := previous.resolver.Snapshot, st.resolver.Snapshot
	switch changed := snapshot.Changed(before, now); {
	case !now.SameBrokenFolders(before), len(changed) > 0 && st.changedEverywhere(previous):
		for m := range st.Clusters() {
			t.due(m, placed)
		}
	default:
		isChanged := foldersAbove(changed)
		for m, c := range st.Clusters() {
			if c != nil && c.Desired().placement.HasAny(isChanged) {
				t.due(m, true)
			}
		}
	}
	return t.anew
}

// changedEverywhere reports whether anything has changed that every cluster depends on and that is
// in no level's folder.
func (st *State) changedEverywhere(previous *State) bool {
	layout := st.Fleet.Layout
	if !sameFile(previous, st, layout.ApplicationSets) || !sameFile(previous, st, layout.FleetSecrets) || !problem.Same(previous.resolver.apps.Faults(), st.resolver.apps.Faults()) {
		return true
	}
	same := func(a, b hierarchy.Layer) bool { return a.Path == b.Path && sameFile(previous, st, a.Path) }
	for g, c := range st.resolver.Catalogs {
		if !slices.EqualFunc(previous.resolver.Catalogs[g], c, same) {
			return true
		}
	}
	for _, file := range layout.TenantSchemas {
		if !sameFile(previous, st, file.Path) {
			return true
		}
	}
	return false
}

// sameFile reports whether two states' snapshots have the same file at a path, or none.
func sameFile(before, now *State, path string) bool {
	a, b := before.resolver.Snapshot.File(path), now.resolver.Snapshot.File(path)
	return (a == nil) == (b == nil) && (b == nil || a.Digest == b.Digest)
}

// taking is a takeOver under way.
type taking struct {
	st, previous *State
	anew         []anew
}

// hub takes over the clusters of a hub, if they depend on the same layout, hub's member file and
// its faults.
func (t *taking) hub(hub string) {
	members := t.st.Fleet.Members(hub)
	own := make([]*Cluster, len(members))
	t.st.clusters[hub] = own
	var before []*fleet.Member
	if p := t.previous; p != nil && p.Fleet.Layout == t.st.Fleet.Layout && p.Fleet.HubMember(hub) == t.st.Fleet.HubMember(hub) && problem.Same(p.hubProblems[hub], t.st.hubProblems[hub]) {
		before = p.Fleet.Members(hub)
		if slices.Equal(before, members) {
			copy(own, p.clusters[hub])
			return
		}
	}
	j := 0
	for i, m := range members { // both are sorted by name
		for j < len(before) && before[j].Name < m.Name {
			j++
		}
		if j < len(before) && before[j] == m {
			own[i] = t.previous.clusters[hub][j]
		} else {
			t.anew = append(t.anew, anew{member: m, at: i})
		}
	}
}

// due has a member's cluster computed anew, once; placed tells that its placement is as it was.
func (t *taking) due(m *fleet.Member, placed bool) {
	old := t.st.ClusterOf(m)
	if old == nil {
		return // it is gone, or due already
	}
	at, _ := t.st.Fleet.Place(m.Hub, m.Name)
	t.st.clusters[m.Hub][at] = nil
	d := anew{member: m, at: at}
	if placed {
		d.place = old.Desired().placement
	}
	t.anew = append(t.anew, d)
}

// foldersAbove returns the folders that files are in, at any depth.
func foldersAbove(files []string) map[string]bool {
	out := map[string]bool{".": true} // a level may be the repository's root
	for _, p := range files {
		for dir := path.Dir(p); !out[dir]; dir = path.Dir(dir) {
			out[dir] = true
		}
	}
	return out
}
