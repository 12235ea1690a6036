package roster

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// NewMember is a member that a held state lacks, or cannot compute and knows nothing good of; by
// the content of its newest file.
type NewMember struct{ Name, Digest string }

// Join is the snapshot of a held state, with the files of members that have joined since, and who
// they are: so a new cluster gets what its ring has. Beside the member's file, these are the files
// of the fleet's repository in folders named for it, which nobody else reads; those of mounts come
// with the next revision. It is the state's own where nobody has joined.
//
// The unfit do not join, and have no file in it; neither does the hub itself join, whose file
// concerns all members.
func Join(held, now *fleetstate.State, hub string, unfit []NewMember) (files *snapshot.Snapshot, joined []NewMember) {
	was, is := held.Resolver().Snapshot, now.Resolver().Snapshot.Main()
	main := was.Main()
	changed := map[string]*snapshot.File{} // nil for one that goes
	had := held.Fleet.Members(hub)
	for i, m := range now.Fleet.Members(hub) {
		if i < len(had) && had[i] == m || m.IsHub {
			continue
		}
		former := held.Fleet.Member(hub, m.Name)
		f := is.File(m.Pos.File)
		if f == nil || former != nil && !isUnknown(held, former) || former != nil && isUnknown(now, m) {
			continue
		}
		at := NewMember{m.Name, f.Digest}
		if slices.Contains(unfit, at) {
			if former != nil {
				changed[former.Pos.File] = nil
			}
			continue
		}
		before := len(changed)
		if old := main.File(f.Path); old == nil || former != nil && old.Digest != f.Digest {
			changed[f.Path] = f
		}
		for _, g := range now.ClusterOf(m).Groups {
			for _, folder := range g.Folders {
				if slices.Contains(strings.Split(folder.Path, "/"), m.Name) && !main.HasDir(folder.Path) {
					for _, f := range is.FilesUnder(folder.Path) {
						changed[f.Path] = f
					}
				}
			}
		}
		if len(changed) > before {
			joined = append(joined, at)
		}
	}
	if len(changed) == 0 {
		return was, nil
	}
	all := map[string]*snapshot.File{}
	for _, f := range main.FilesUnder("") {
		all[f.Path] = f
	}
	for p, f := range changed {
		if all[p] = f; f == nil {
			delete(all, p)
		}
	}
	return snapshot.New(main.Revision, all).Join(was.Parts()), joined
}

// isUnknown reports whether a state cannot compute a member, and knows nothing good of it.
func isUnknown(st *fleetstate.State, m *fleet.Member) bool {
	q, is := st.QuarantineOf(st.ClusterOf(m))
	return is && q.Standing != fleetstate.Kept
}

// Unfit are those of the joined that a state cannot compute, and has nothing of.
func Unfit(st *fleetstate.State, hub string, joined []NewMember) (out []NewMember) {
	for _, q := range st.Quarantined(hub) {
		if i := slices.IndexFunc(joined, func(m NewMember) bool { return m.Name == q.Name }); i >= 0 && q.Standing != fleetstate.Kept {
			out = append(out, joined[i])
		}
	}
	return out
}
