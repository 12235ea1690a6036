package pipeline

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// beyondReach returns the changed files that others could ever read according to the base, and the
// files that wait for someone else. A plan shows only what a change does today, with the facts of
// today.
func beyondReach(name string, base, head *fleetstate.State) (beyond []string) {
	was, is := base.Resolver().Snapshot, head.Resolver().Snapshot
	reach, err := mount.NewReach(base.Resolver().Bounds(), name)
	if err != nil {
		return []string{err.Error()}
	}
	for _, path := range snapshot.Changed(was, is) {
		if of := mountOf(head.Resolver().Mounts, path); of != nil { // which has bounds of its own
			if of.Team != name {
				beyond = append(beyond, fmt.Sprintf("%s is of team %s", path, of.Team))
			}
			continue
		}
		problems := reach.Beyond(path, was.File(path), is.File(path))
		for _, p := range problems {
			beyond = append(beyond, brief(p))
		}
		if waits := reach.Waits(path, readers(head)); len(problems) == 0 && waits != "" {
			beyond = append(beyond, path+": "+waits)
		}
	}
	return append(beyond, changedBeside(was, is, reach.Touches)...)
}

func mountOf(t *mount.Table, path string) *mount.Scope {
	if t != nil {
		for _, s := range t.Scopes {
			if fleet.Overlap(path, s.Path) {
				return s
			}
		}
	}
	return nil
}

// readers iterates over the members with the folders that the applications of teams read.
func readers(st *fleetstate.State) func(yield func(*fleet.Member, []hierarchy.Folder) bool) {
	return func(yield func(*fleet.Member, []hierarchy.Folder) bool) {
		for m, c := range st.Clusters() {
			if g := c.Groups[mount.Group]; g != nil && !yield(m, g.Folders) {
				return
			}
		}
	}
}

// brief formats a problem in one line, without its hints.
func brief(p problem.Problem) string {
	if p.Subject == "" {
		return fmt.Sprintf("%s %s", p.Pos, p.Found)
	}
	return fmt.Sprintf("%s: %s: %s", p.Pos, p.Subject, p.Found)
}

// changedBeside returns the differences besides files. These are symbolic links, which make a file
// readable in two places, and obstacles in place of a folder or file that is read.
func changedBeside(was, is *snapshot.Snapshot, isRead func(path string) bool) (out []string) {
	for _, o := range slices.Concat(is.Obstacles(), was.Obstacles()) {
		if a, b := was.Obstacle(o.Path), is.Obstacle(o.Path); snapshot.IsPlain(o) && !isRead(o.Path) {
			continue
		} else if a == nil || b == nil || a.Digest != b.Digest {
			if text := brief(problem.From(o.Err, problem.MissingFile, problem.Pos{File: o.Path})[0]); !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	before, after := was.Beside().Links, is.Beside().Links
	for _, l := range slices.Concat(after, before) {
		if slices.Contains(before, l) != slices.Contains(after, l) {
			out = append(out, fmt.Sprintf("%s: the symbolic link to %q changes", l.Path, l.Target))
		}
	}
	return out
}
