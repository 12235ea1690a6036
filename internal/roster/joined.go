package roster

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Join is the snapshot of a held state, with the files of members that have joined since, and who
// they are: so a new cluster gets what its ring has. Beside the member's file, these are the files
// of the fleet's repository in folders named for it, which nobody else reads; those of mounts come
// with the next revision. It is the state's own where nobody has joined. The unfit do not join, and
// neither does the hub itself: its file concerns all members.
func Join(held, now *fleetstate.State, hub string, unfit []string) (files *snapshot.Snapshot, joined []string) {
	was, is := held.Resolver().Snapshot, now.Resolver().Snapshot.Main()
	main := was.Main()
	all := map[string]*snapshot.File{}
	had := held.Fleet.Members(hub)
	for i, m := range now.Fleet.Members(hub) {
		if i < len(had) && had[i].Name == m.Name || held.Fleet.Member(hub, m.Name) != nil || m.IsHub || slices.Contains(unfit, m.Name) {
			continue
		}
		before := len(all)
		if f := is.File(m.Pos.File); f != nil && main.File(f.Path) == nil {
			all[f.Path] = f
		}
		for _, g := range now.ClusterOf(m).Groups {
			for _, folder := range g.Folders {
				if slices.Contains(strings.Split(folder.Path, "/"), m.Name) && !main.HasDir(folder.Path) {
					for _, f := range is.FilesUnder(folder.Path) {
						all[f.Path] = f
					}
				}
			}
		}
		if len(all) > before {
			joined = append(joined, m.Name)
		}
	}
	if len(joined) == 0 {
		return was, nil
	}
	for _, f := range main.FilesUnder("") {
		all[f.Path] = f
	}
	return snapshot.New(main.Revision, all).Join(was.Parts()), joined
}

// Unfit are those of the joined that a state cannot compute, and has nothing of.
func Unfit(st *fleetstate.State, hub string, joined []string) (out []string) {
	for _, q := range st.Quarantined(hub) {
		if q.Standing != fleetstate.Kept && slices.Contains(joined, q.Name) {
			out = append(out, q.Name)
		}
	}
	return out
}
