package fleet

import (
	"slices"
	"strings"
)

// OfHubsAlone reports whether a path below a group's root is in a folder of the hubs' levels, and
// in none of the spokes' levels.
func (l *Layout) OfHubsAlone(p string) bool { return inFolders(p, l.hubDirs) && !inFolders(p, l.dirs) }

// inFolders reports whether a path below a group's root is in one of the folders; a sentinel stands
// for any name.
func inFolders(p string, dirs [][]string) bool {
	parts := strings.Split(p, "/")
	return slices.ContainsFunc(dirs, func(dir []string) bool {
		if len(dir) > 0 && dir[0] == sentinel("root") {
			dir = dir[1:]
		}
		if len(dir) == 0 || len(parts) <= len(dir) {
			return false
		}
		for i, part := range dir {
			if part != parts[i] && !strings.Contains(part, "<") {
				return false
			}
		}
		return true
	})
}
