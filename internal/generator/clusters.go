package generator

import (
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// A commit touches few clusters. What a State takes from the one before costs a copy of pointers; which clusters are to be
// computed anew is found from what has changed, without looking at the others.

// clusterOf is a member's cluster, nil for a member that the state's fleet has not, or has by another file.
func (st *State) ClusterOf(m *fleet.Member) *Cluster {
	i, found := st.Fleet.Place(m.Hub, m.Name)
	if !found || st.Fleet.Members(m.Hub)[i] != m {
		return nil
	}
	return st.clusters[m.Hub][i]
}

// Facts are what the state was built from.
func (st *State) Facts() facts.Set { return st.facts }

// Resolver is what the clusters of the State's own snapshot are computed by.
func (st *State) Resolver() *Resolver { return st.resolver }

// Groups are all groups of the layout and of members' last known good snapshots, sorted.
func (st *State) Groups() []string { return st.groups }

// ClustersOf are the clusters of a hub's members, in the order of Fleet.Members.
func (st *State) ClustersOf(hub string) []*Cluster { return st.clusters[hub] }

// Clusters goes through all members with their clusters, by hub and name.
func (st *State) Clusters() iter.Seq2[*fleet.Member, *Cluster] {
	return func(yield func(*fleet.Member, *Cluster) bool) {
		for _, hub := range st.Fleet.Hubs() {
			for i, m := range st.Fleet.Members(hub) {
				if !yield(m, st.clusters[hub][i]) {
					return
				}
			}
		}
	}
}

// anew is a member whose cluster is to be computed.
type anew struct {
	member *fleet.Member
	at     int        // among its hub's
	place  *placement // if that is as it was, else nil
}

// takeOver takes over the clusters of a previous state, which may be nil, but for those that depend on anything that has
// changed: they are nil still, and returned.
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
	if previous.resolver.Snapshot == st.resolver.Snapshot {
		return t.anew
	}
	switch changed := snapshot.Changed(previous.resolver.Snapshot, st.resolver.Snapshot); {
	case len(changed) == 0:
	case st.changedEverywhere(previous):
		for m := range st.Clusters() {
			t.due(m, true)
		}
	default:
		for m := range previous.haveFolders(foldersOf(changed)) {
			t.due(m, true)
		}
	}
	return t.anew
}

// changedEverywhere reports whether anything has changed that every cluster depends on and that is in no level's folder.
func (st *State) changedEverywhere(previous *State) bool {
	if previous.Fleet.Versions != st.Fleet.Versions || previous.Fleet.FleetSecrets != st.Fleet.FleetSecrets {
		return true
	}
	for g, c := range st.resolver.Catalogs {
		if previous.resolver.Catalogs[g].Root != c.Root {
			return true
		}
	}
	return false
}

// taking is a takeOver under way.
type taking struct {
	st, previous *State
	anew         []anew
}

// hub takes over the clusters of a hub, if they depend on the same layout, hub's member file and its faults.
func (t *taking) hub(hub string) {
	members := t.st.Fleet.Members(hub)
	own := make([]*Cluster, len(members))
	t.st.clusters[hub] = own
	var before []*fleet.Member
	if p := t.previous; p != nil && p.Fleet.Layout == t.st.Fleet.Layout && p.Fleet.HubMember(hub) == t.st.Fleet.HubMember(hub) && sameFaults(p.hubProblems[hub], t.st.hubProblems[hub]) {
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

// foldersOf are the folders that files are in, at any depth, once each.
func foldersOf(paths []string) []string {
	out, seen := []string{"."}, map[string]bool{".": true} // a level may be the repository's root
	for _, p := range paths {
		for dir := path.Dir(p); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			out = append(out, dir)
		}
	}
	return out
}

// byFolder finds the members that have a folder among those of their levels. It is carried on from state to state, and is
// never changed.
type byFolder struct {
	// members is as it was when the index was made: some may have been placed otherwise since, or be gone.
	members map[string][]*fleet.Member
	// since are those that have been placed since then.
	since []*fleet.Member
}

// newByFolder is the index of a state.
func newByFolder(st *State) *byFolder {
	x := &byFolder{members: map[string][]*fleet.Member{}}
	for m, c := range st.Clusters() {
		for dir := range c.Desired().placement.folders() {
			if ms := x.members[dir]; len(ms) == 0 || ms[len(ms)-1] != m { // groups share folders
				x.members[dir] = append(ms, m)
			}
		}
	}
	return x
}

// haveFolders are at least all members that have any of these folders among those of their levels.
func (st *State) haveFolders(dirs []string) iter.Seq[*fleet.Member] {
	x := st.folders
	return func(yield func(*fleet.Member) bool) {
		for _, dir := range dirs {
			for _, m := range x.members[dir] {
				if !yield(m) {
					return
				}
			}
		}
		for _, m := range x.since {
			if c := st.ClusterOf(m); c != nil && c.Desired().placement.hasAny(dirs) && !yield(m) {
				return
			}
		}
	}
}

// indexFolders carries the previous state's index on, or makes it anew where too many have been placed anew.
func (st *State) indexFolders(previous *State, computed []anew) {
	if previous == nil || previous.Fleet.Layout != st.Fleet.Layout {
		st.folders = newByFolder(st)
		return
	}
	since := slices.Clone(previous.folders.since)
	for _, d := range computed {
		if d.place == nil && !slices.Contains(since, d.member) {
			since = append(since, d.member)
		}
		if len(since) > maxSince {
			st.folders = newByFolder(st)
			return
		}
	}
	st.folders = &byFolder{members: previous.folders.members, since: since}
}

// maxSince is how many members an index by folder has beside it, until it is made anew.
const maxSince = 256

// folders are those of all levels, some of them more than once.
func (p *placement) folders() iter.Seq[string] {
	return func(yield func(string) bool) {
		if p == nil {
			return
		}
		for _, dirs := range p.dirs {
			for _, d := range dirs {
				if !yield(d.Path) {
					return
				}
			}
		}
	}
}

func (p *placement) hasAny(dirs []string) bool {
	for dir := range p.folders() {
		if slices.Contains(dirs, dir) {
			return true
		}
	}
	return false
}

// attempted is the cluster as the snapshot has it.
func (c *Cluster) Desired() *Cluster {
	if c.desired != nil {
		return c.desired
	}
	return c
}

// peculiar is a member that is not simply what the snapshot has of it.
type exception struct {
	member  *fleet.Member
	cluster *Cluster
}

// isPeculiar reports whether a cluster has anything that the few are looked for by: problems, or a home.
func (c *Cluster) isException() bool {
	return c.LastKnownGood != nil || c.desired != nil || c.IsNewcomer || len(c.Problems) > 0 || len(c.HubProblems) > 0
}

// findPeculiar looks at the clusters that have been computed, and at those that were peculiar before.
func (st *State) findExceptions(previous *State, computed []anew) {
	if previous != nil {
		for _, x := range previous.exceptions {
			if st.ClusterOf(x.member) == x.cluster {
				st.exceptions = append(st.exceptions, x)
			}
		}
	}
	for _, d := range computed {
		if c := st.clusters[d.member.Hub][d.at]; c.isException() {
			st.exceptions = append(st.exceptions, exception{d.member, c})
		}
	}
	slices.SortFunc(st.exceptions, func(a, b exception) int {
		return cmp.Or(strings.Compare(a.member.Hub, b.member.Hub), strings.Compare(a.member.Name, b.member.Name))
	})
}
