package mount

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// levelFile says how the layout reads a path below a root: as the file of a level.
type levelFile struct {
	level string
	// tenant and cluster are the names in the folder, empty where it has none.
	tenant, cluster string
	group           string
	// namesGroup says that the path has the group's name; otherwise every group with the same root
	// reads the file.
	namesGroup bool
	// component has the values file; folder has the values files of components.
	component, folder string
	isCatalog         bool
	isTemplate        bool
}

// levelFiles are the patterns of levels' folders below a root, and of the files in them.
type levelFiles struct {
	layout          *fleet.Layout
	levels          []levelPattern
	values, catalog *regexp.Regexp
}

// levelPattern is a level's folder below a root.
type levelPattern struct {
	level string
	parts []*regexp.Regexp
}

var anySentinel = regexp.MustCompile(`<[^<>]*>`)

// patternOf compiles a pattern from a text with sentinels, which stand for names.
func patternOf(text string) *regexp.Regexp {
	seen := map[string]bool{}
	return regexp.MustCompile("^" + anySentinel.ReplaceAllStringFunc(regexp.QuoteMeta(text), func(sentinel string) string {
		name := strings.Trim(sentinel, "<>")
		if seen[name] || !slices.Contains([]string{"tenant", "cluster", "group", "component", "folder"}, name) {
			return "[^/]+"
		}
		seen[name] = true
		return "(?P<" + name + ">[^/]+)"
	}) + "$")
}

// newLevelFiles makes the patterns of a layout, from the spokes' levels that begin with the group's
// root.
func newLevelFiles(l *fleet.Layout) levelFiles {
	out := emptyLevelFiles(l)
	names, folders := l.SampleFolders()
	for i, dir := range folders {
		if dir[0] == "<root>" && len(dir) > 1 {
			out.add(names[i], dir[1:])
		}
	}
	return out
}

func emptyLevelFiles(l *fleet.Layout) levelFiles {
	return levelFiles{layout: l, values: patternOf(withoutSuffix(l.Values)), catalog: patternOf(withoutSuffix(l.Catalog))}
}

// add adds a level's folder, with sentinels for names.
func (l *levelFiles) add(level string, dir []string) {
	p := levelPattern{level: level}
	for _, part := range dir {
		p.parts = append(p.parts, patternOf(part))
	}
	l.levels = append(l.levels, p)
}

func withoutSuffix(f *fleet.FileTemplate) string {
	return strings.TrimSuffix(f.String(), hierarchy.TemplateSuffix)
}

// captured adds the names that a pattern finds in a text; it is false where nothing matches.
func captured(re *regexp.Regexp, text string, names map[string]string) bool {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i, name := range re.SubexpNames() {
		if name != "" {
			names[name] = m[i]
		}
	}
	return true
}

// touches reports whether a path below a root is in a level's folder, or above one.
func (l levelFiles) touches(p string) bool {
	parts := strings.Split(p, "/")
	return slices.ContainsFunc(l.levels, func(level levelPattern) bool {
		for i := range min(len(parts), len(level.parts)) {
			if !level.parts[i].MatchString(parts[i]) {
				return false
			}
		}
		return true
	})
}

// contains reports whether a path below a root is in a level's folder.
func (l levelFiles) contains(p string) bool { return len(l.levelsOf(p)) > 0 }

// levelsOf returns the levels whose folders a path is in, with the rest of the path.
func (l levelFiles) levelsOf(p string) (out []levelRest) {
	parts := strings.Split(p, "/")
	for _, level := range l.levels {
		n, names, ok := len(level.parts), map[string]string{}, len(parts) > len(level.parts)
		for i := 0; ok && i < n; i++ {
			ok = captured(level.parts[i], parts[i], names)
		}
		if ok && !l.layout.IsReserved("tenant", names["tenant"]) {
			out = append(out, levelRest{level.level, names, strings.Join(parts[n:], "/")})
		}
	}
	return out
}

type levelRest struct {
	level string
	names map[string]string
	rest  string
}

// of returns how a path below a root may be read: as a values file or a catalog of a level.
func (l levelFiles) of(p string) (out []levelFile) {
	for _, level := range l.levelsOf(p) {
		rest, isTemplate := strings.CutSuffix(level.rest, hierarchy.TemplateSuffix)
		for i, re := range []*regexp.Regexp{l.values, l.catalog} {
			names := map[string]string{}
			if !captured(re, rest, names) {
				continue
			}
			out = append(out, levelFile{
				level: level.level, tenant: level.names["tenant"], cluster: level.names["cluster"],
				group: cmp.Or(names["group"], level.names["group"], Group), namesGroup: names["group"]+level.names["group"] != "", component: names["component"], folder: names["folder"], isCatalog: i == 1, isTemplate: isTemplate,
			})
		}
	}
	return out
}

// isFleetsOwn reports whether only the fleet repository may have a file at a path, whatever the
// case of its letters: members, versions, teams, catalogs, schemas and the layout.
func (l levelFiles) isFleetsOwn(p string) bool {
	own := []string{"fleet", l.layout.Members.Folder(), l.layout.ApplicationSets, l.layout.FleetSecrets, l.layout.Guard.Approvals}
	for _, g := range l.layout.Groups {
		own = append(own, g.Catalogs...)
	}
	for _, s := range l.layout.TenantSchemas {
		own = append(own, s.Path)
	}
	folded := strings.ToLower(p)
	return slices.ContainsFunc(own, func(o string) bool {
		o = strings.ToLower(o)
		return o != "" && (folded == o || strings.HasPrefix(folded, o+"/"))
	})
}
