package fleet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Mount is another Git repository that the layout joins below a path. Its files have the levels of
// a group's root, and bounds: those of its team (U3).
type Mount struct {
	// Path is the folder below which the repository is joined.
	Path string
	// URL and Ref say what is read; Ref is a branch, a tag or a commit.
	URL, Ref string
	// Team owns the repository: what it may write is bounded by the team.
	Team string
	// Credentials is the name of the credentials that the service reads it with, empty for none.
	Credentials string
	Pos         problem.Pos
}

// maxMounts is the limit of mounts (H10).
const maxMounts = 100

var (
	// mountPath is stricter than a path need be: what looks alike on some disk is not two mounts.
	mountPath = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*$`)
	mountURL  = regexp.MustCompile(`^(https?://[^\s@?#]+|ssh://([\w.-]+@)?[^\s@?#]+|[\w.-]+@[\w.-]+:[^\s?#]+)$`)
	mountRef  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
)

// mounts reads the layout's mounts, sorted by path.
func (p layoutParser) mounts(l *Layout) (out []Mount) {
	const key = "mounts"
	mounts := p.root.Map(key)
	for _, f := range mounts.Node().Fields() {
		if f.Value.IsNull() {
			continue
		}
		m := mounts.Map(f.Key)
		m.Known("url", "ref", "team", "credentials")
		mount := Mount{Path: f.Key, URL: m.String("url"), Ref: m.String("ref"), Team: m.String("team"), Credentials: m.String("credentials"), Pos: mounts.KeyPos(f.Key)}
		if mount.Ref == "" {
			mount.Ref = "main"
		}
		for _, c := range []struct {
			key, value, expected string
			good                 bool
		}{
			{"url", mount.URL, "an https or ssh address without credentials", mountURL.MatchString(mount.URL)},
			{"ref", mount.Ref, "a branch, a tag or a commit, in quotes if YAML reads it as a number (1.10 as 1.1)", (m.Node().Get("ref").IsNull() || m.Node().Get("ref").Kind == yamldoc.String) && mountRef.MatchString(mount.Ref) && !strings.Contains(mount.Ref, "..")},
			{"team", mount.Team, "the team whose file is in fleet/teams", labels.IsName(mount.Team)},
			{"credentials", mount.Credentials, "the name of credentials that the service has", mount.Credentials == "" || labels.IsName(mount.Credentials)},
		} {
			if !c.good {
				p.r.AddAt(problem.InvalidLayout, m.KeyPos(c.key), fmt.Sprintf("key %q", key+"."+f.Key+"."+c.key), fmt.Sprintf("is %q", c.value), c.expected)
			}
		}
		if what, taken := l.taken(f.Key, out); taken || !mountPath.MatchString(f.Key) {
			found, expected := "is no path of a mount", "lower case letters, digits, dots, hyphens and underscores, in folders"
			if taken {
				found, expected = "overlaps with "+what, "a folder of its own"
			}
			p.r.AddAt(problem.InvalidLayout, mount.Pos, fmt.Sprintf("key %q", key+"."+f.Key), found, expected)
			continue
		}
		out = append(out, mount)
	}
	if len(out) > maxMounts {
		p.r.AddAt(problem.LimitExceeded, p.root.KeyPos(key), fmt.Sprintf("key %q", key), fmt.Sprintf("has %d mounts", len(out)), fmt.Sprintf("at most %d", maxMounts))
	}
	slices.SortFunc(out, func(a, b Mount) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// taken says what of the fleet's own a mount's path would overlap with.
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

// addMountLevels makes the levels of mounts a tenant's: their files are as little the platform's.
func (l *Layout) addMountLevels(levels []*yamldoc.Node) {
	for _, item := range levels {
		name := item.Get("name")
		if name == nil {
			continue // reported
		}
		l.levelNames = append(l.levelNames, name.Text())
		for _, m := range l.Mounts {
			l.tenantLevels[MountLevel(m.Path, name.Text())] = true
		}
	}
}

// SampleFolders are the folders of the spokes' levels, in parts, with the names of facts in angle
// brackets in the places of the facts. The names of the levels are in the same order.
func (l *Layout) SampleFolders() (names []string, folders [][]string) { return l.levelNames, l.dirs }

// SampleHubFolders are those of the hubs' levels.
func (l *Layout) SampleHubFolders() [][]string { return l.hubDirs }

// IsReserved reports whether no tenant, environment or cluster can have a name, because a level's
// own folder has it.
func (l *Layout) IsReserved(fact, name string) bool { return slices.Contains(l.reserved[fact], name) }

// InMount reports whether a path is below that of a mount.
func (l *Layout) InMount(path string) bool {
	return slices.ContainsFunc(l.Mounts, func(m Mount) bool { return inFolder(path, m.Path) })
}
