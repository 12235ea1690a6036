package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Mount is another Git repository that the layout joins below a path. Its files have the levels of
// a group's root, and its team bounds what they may say.
type Mount struct {
	// Path is the folder below which the repository is joined.
	Path string `json:"-"`
	URL  string `json:"url" pattern:"^(https?://[^\\s@?#]+|ssh://([\\w.-]+@)?[^\\s@?#]+|[\\w.-]+@[\\w.-]+:[^\\s?#]+)$" expect:"an https or ssh address without credentials"`
	// Ref is a branch, a tag or a commit; default main.
	Ref string `json:"ref,omitempty" is:"quoted" pattern:"^[A-Za-z0-9][A-Za-z0-9_/-]*(\\.[A-Za-z0-9_/-]+)*$" expect:"a branch, a tag or a commit"`
	// Team owns the repository, and bounds what it may write.
	Team string `json:"team" is:"name" expect:"the team whose file is in fleet/teams"`
	// Credentials is the name of the credentials that the service reads it with, empty for none.
	Credentials string      `json:"credentials,omitempty" is:"name"`
	Pos         problem.Pos `json:"-"`
}

// maxMounts is the limit of mounts.
const maxMounts = 100

// mountPath is stricter than a path need be: mounts must not look alike on any disk.
var mountPath = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*$`)

// mounts returns the layout's mounts, sorted by path.
func (p layoutParser) mounts(l *Layout) (out []Mount) {
	at := p.at.In("mounts")
	for _, path := range slices.Sorted(maps.Keys(p.d.Mounts)) {
		mount := p.d.Mounts[path]
		mount.Path, mount.Ref, mount.Pos = path, cmp.Or(mount.Ref, "main"), at.Pos(path)
		found, expected := "is not a path of a mount", "lower case letters, digits, dots, hyphens and underscores, in folders"
		what, taken := l.taken(path, out)
		if taken {
			found, expected = "overlaps with "+what, "a folder of its own"
		}
		if taken || !mountPath.MatchString(path) {
			at.AddAt(problem.InvalidLayout, mount.Pos, fmt.Sprintf("key %q", "mounts."+path), found, expected)
			continue
		}
		out = append(out, mount)
	}
	if len(out) > maxMounts {
		at.AddAt(problem.LimitExceeded, p.at.Pos("mounts"), `key "mounts"`, fmt.Sprintf("has %d mounts", len(out)), fmt.Sprintf("at most %d", maxMounts))
	}
	return out
}

// taken returns what of the fleet's own a mount's path overlaps with.
func (l *Layout) taken(path string, mounts []Mount) (string, bool) {
	own := map[string]string{"the folder fleet": "fleet", "the members' folder": l.Members.Folder(), l.ApplicationSets: l.ApplicationSets, l.FleetSecrets: l.FleetSecrets}
	for name, g := range l.Groups {
		own["the root of group "+name] = g.Root
		for _, c := range g.Catalogs {
			own[c] = c
		}
	}
	for _, m := range mounts {
		own["mount "+m.Path] = m.Path
	}
	for what, place := range own {
		if place != "" && Overlap(place, path) {
			return what, true
		}
	}
	return "", false
}

// Overlap reports whether one of two folders is the other, or below it.
func Overlap(a, b string) bool { return a == "." || inFolder(a, b) || inFolder(b, a) }

// inFolder reports whether a path is a folder, or below it.
func inFolder(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// MountLevel names a level of a mount.
func MountLevel(path, level string) string { return level + " of " + path }

// addMountLevels makes the levels of mounts a tenant's: the platform does not write their files.
func (l *Layout) addMountLevels(levels []LayoutLevel) {
	for _, level := range levels {
		l.levelNames = append(l.levelNames, level.Name)
		for _, m := range l.Mounts {
			l.tenantLevels[MountLevel(m.Path, level.Name)] = true
		}
	}
}

// SampleFolders returns the folders of the spokes' levels, in parts, with the names of facts in
// angle brackets in the places of the facts. The names of the levels are in the same order.
func (l *Layout) SampleFolders() (names []string, folders [][]string) { return l.levelNames, l.dirs }

// SampleHubFolders returns the folders of the hubs' levels.
func (l *Layout) SampleHubFolders() [][]string { return l.hubDirs }

// IsReserved reports whether no tenant, environment or cluster can have a name, because it is the
// name of a level's own folder.
func (l *Layout) IsReserved(fact, name string) bool { return slices.Contains(l.reserved[fact], name) }

// InMount reports whether a path is at or below a mount's path.
func (l *Layout) InMount(path string) bool {
	return slices.ContainsFunc(l.Mounts, func(m Mount) bool { return inFolder(path, m.Path) })
}
