package rings

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// withJoined is the snapshot of a held state, with the files of members that have joined since: so
// a new cluster gets what its ring has. Beside the member's file, these are the files in folders
// named for it, which nobody else reads. It is the state's own where nobody has joined.
func withJoined(held, now *fleetstate.State, hub string) *snapshot.Snapshot {
	was := held.Resolver().Snapshot
	var joined []*snapshot.File
	had := held.Fleet.Members(hub)
	for i, m := range now.Fleet.Members(hub) {
		if i < len(had) && had[i].Name == m.Name || held.Fleet.Member(hub, m.Name) != nil {
			continue
		}
		files := now.Resolver().Snapshot
		if f := files.File(m.Pos.File); f != nil && was.File(f.Path) == nil {
			joined = append(joined, f)
		}
		c := now.ClusterOf(m)
		for _, g := range c.Groups {
			for _, folder := range g.Folders {
				if slices.Contains(strings.Split(folder.Path, "/"), m.Name) && !was.HasDir(folder.Path) {
					joined = append(joined, files.FilesUnder(folder.Path)...)
				}
			}
		}
	}
	if len(joined) == 0 {
		return was
	}
	files := map[string]*snapshot.File{}
	for _, f := range slices.Concat(was.FilesUnder(""), joined) {
		files[f.Path] = f
	}
	return snapshot.New(was.Revision, files)
}
