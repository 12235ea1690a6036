package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// valueHierarchy is a hierarchy that value files form already: the lists of value files of all
// Applications are folders, least specific first, with one path inside each.
type valueHierarchy struct {
	group  string
	levels []keptLevel
	// file is the path inside a level's folder, a template over the component or its folder.
	file string
	// folders are the values of {{ .folder }} in file for components, where they differ from the
	// component's name.
	folders map[string]string
	// isOverruled says that Applications have values besides their files, which override them.
	isOverruled bool
	// files keep their places, by path. They are in repository.
	files      map[string]*snapshot.File
	repository *snapshot.Snapshot
}

// keptLevel is a level whose folder exists already.
type keptLevel struct {
	name, dir string // dir is a template over the facts
	folders   map[string]string
}

// unkept says why value files do not keep their places.
type unkept string

func (u unkept) Error() string { return string(u) }

// recognize finds the hierarchy of the value files. Without value files it returns neither a
// hierarchy nor an error.
func (m *importer) recognize(components map[string][]*application) (*valueHierarchy, error) {
	lists, err := listed(components)
	if err != nil || len(lists) == 0 {
		return nil, err
	}
	out, err := m.hierarchyOf(lists, "component")
	if err != nil {
		byFolder, other := m.hierarchyOf(lists, "folder")
		if other != nil {
			return nil, err
		}
		out = byFolder
	}
	snap := lists[0][0].valueFiles()[0].Snapshot
	out.repository = snap
	for _, name := range slices.Sorted(maps.Keys(components)) {
		for _, a := range components[name] {
			if err := out.take(a, snap); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// hierarchyOf returns the hierarchy of files that are named after the component, or its chart's
// folder.
func (m *importer) hierarchyOf(lists []list, called string) (*valueHierarchy, error) {
	r := recognition{importer: m, facts: m.pathFacts(called)}
	out := &valueHierarchy{group: m.o.Group, folders: map[string]string{}, files: map[string]*snapshot.File{}}
	var order []string
	for _, l := range lists {
		at := -1
		for i := range l[0].valueFiles() {
			dir, file, err := r.templated(l, i)
			switch {
			case err != nil:
				return nil, err
			case out.file == "":
				out.file = file
			case out.file != file:
				return nil, unkept(fmt.Sprintf("value files are called %s and %s, and a layout has one name for all levels", out.file, file))
			}
			switch found := slices.Index(order, dir); {
			case found < 0:
				at++
				order = slices.Insert(order, at, dir)
			case found < at:
				return nil, unkept(fmt.Sprintf("%s lists the files of %s in another order than others", l[0].set.subject(), dir))
			default:
				at = found
			}
		}
		for _, a := range l {
			if name := r.facts[0].of(a); name != a.component {
				out.folders[a.component] = name
			}
		}
	}
	out.file, order = m.shorter(out.file, order)
	names := map[string]bool{}
	for _, dir := range order {
		out.levels = append(out.levels, keptLevel{name: levelName(dir, names), dir: dir, folders: r.folders(dir)})
	}
	if err := out.isShared(lists); err != nil {
		return nil, err
	}
	if !strings.Contains(order[len(order)-1], "{{ .cluster }}") { // for what catalogs say of one cluster
		dir := m.o.Group + "/clusters/{{ .cluster }}"
		out.levels = append(out.levels, keptLevel{name: levelName(dir, names), dir: dir, folders: r.folders(dir)})
	}
	return out, nil
}

// valueFiles returns the value files of the main source.
func (a *application) valueFiles() []verify.ValueFile { return a.Values[a.main].Files }

// list holds Applications of one ApplicationSet with the same number of value files.
type list []*application

// listed groups the Applications by ApplicationSet and number of value files, the longest lists
// first. All value files are in one repository.
func listed(components map[string][]*application) ([]list, error) {
	by, repository := map[string]list{}, ""
	for _, name := range slices.Sorted(maps.Keys(components)) {
		for _, a := range components[name] {
			files := a.valueFiles()
			for _, f := range files {
				if repository = cmp.Or(repository, f.Repository); f.Repository != repository {
					return nil, unkept(fmt.Sprintf("value files are in two repositories, %s and %s", repository, f.Repository))
				}
			}
			if key := fmt.Sprintf("%06d %s", 999999-len(files), a.set.name); len(files) > 0 {
				by[key] = append(by[key], a)
			}
		}
	}
	var out []list
	for _, key := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[key])
	}
	return out, nil
}

// shorter moves a common last part of all folders into the file's path, with the group's fact for
// its name. The folder addons/defaults/addons becomes the level's folder addons/defaults.
func (m *importer) shorter(file string, dirs []string) (string, []string) {
	for {
		last := path.Base(dirs[0])
		if strings.Contains(last, "{{") || slices.ContainsFunc(dirs, func(d string) bool { return path.Base(d) != last || d == last }) {
			return file, dirs
		}
		for i, d := range dirs {
			dirs[i] = path.Dir(d)
		}
		if last == m.o.Group {
			last = "{{ .group }}"
		}
		file = last + "/" + file
	}
}

// levelName returns a name for the level of a folder that no other level has.
func levelName(dir string, taken map[string]bool) string {
	var facts []string
	literal := "defaults"
	for _, part := range strings.Split(dir, "/") {
		if before, key, ok := strings.Cut(part, "{{ "); !ok {
			literal = part
		} else if word := strings.TrimSuffix(strings.TrimPrefix(key, "."), " }}"); strings.HasPrefix(word, "dig ") {
			facts = append(facts, strings.Split(word, `"`)[1])
		} else {
			facts = append(facts, cmp.Or(strings.Split(word, " ")[0], before))
		}
	}
	names := []string{literal}
	if len(facts) > 0 {
		names = []string{facts[len(facts)-1], strings.Join(facts, "-"), strings.Join(facts, "-") + "-" + literal}
	}
	for i := 0; ; i++ {
		name := nameOf(names[min(i, len(names)-1)])
		if i >= len(names) {
			name = fmt.Sprintf("%s-%d", name, i)
		}
		if !taken[name] {
			taken[name] = true
			return name
		}
	}
}

// fileOf returns the path of a component's file inside a level's folder.
func (h *valueHierarchy) fileOf(component string) string {
	return strings.NewReplacer("{{ .group }}", h.group, "{{ .component }}", component, "{{ .folder }}", cmp.Or(h.folders[component], component)).Replace(h.file)
}

// layout returns the layout's keys that say where the files are.
func (h *valueHierarchy) layout(catalogFile string) string {
	root, _, _ := strings.Cut(h.levels[0].dir, "/")
	for _, l := range h.levels {
		if first, _, _ := strings.Cut(l.dir, "/"); first != root || strings.Contains(root, "{{") {
			root = ""
		}
	}
	var levels strings.Builder
	for _, l := range h.levels {
		dir := l.dir
		if rest, ok := strings.CutPrefix(dir, root); ok && root != "" {
			dir = "{{ .root }}" + rest
		}
		fmt.Fprintf(&levels, "  - {name: %s, dir: %s}\n", l.name, quotedYAML(dir))
	}
	return fmt.Sprintf("  %s:\n    root: %s\n    catalog: %s\nlevels: # least specific first: the folders that hold value files\n%shubLevels:\n%sfiles:\n  values: %s\n",
		h.group, cmp.Or(root, h.group), catalogFile, levels.String(), levels.String(), quotedYAML(h.file))
}

// quotedYAML returns a text in single quotes.
func quotedYAML(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// isShared returns an error if the files are not a hierarchy. A hierarchy has at least two levels,
// and the first levels hold files for several clusters.
func (h *valueHierarchy) isShared(lists []list) error {
	if len(h.levels) < 2 {
		return unkept("all are at one level, so what clusters have in common stands several times")
	}
	reader := map[string]string{} // a cluster, by file
	for _, l := range lists {
		for _, a := range l {
			for _, f := range a.valueFiles() {
				if cluster, isRead := reader[f.Path]; isRead && cluster != a.Cluster {
					return nil
				}
				if f.File != nil {
					reader[f.Path] = a.Cluster
				}
			}
		}
	}
	return unkept("no file is read by more than one cluster")
}

// take adds the files of an Application: the files that it lists, and other files that a level has
// for it. The comparison then finds out what the other files change.
func (h *valueHierarchy) take(a *application, snap *snapshot.Snapshot) error {
	if !a.isChart() {
		return nil
	}
	of := map[string]*snapshot.File{}
	for _, f := range a.valueFiles() {
		of[f.Path], snap = f.File, f.Snapshot
	}
	h.isOverruled = h.isOverruled || len(a.Values[a.main].Over) > 0
	for _, level := range h.levels {
		p := level.folders[a.Cluster] + "/" + h.fileOf(a.component)
		f, isListed := of[p]
		if !isListed {
			f = snap.File(p)
		}
		for _, f := range []*snapshot.File{f, snap.File(p + hierarchy.TemplateSuffix)} {
			if f == nil {
				continue
			}
			if other := h.files[f.Path]; other != nil && other.Digest != f.Digest {
				return unkept(fmt.Sprintf("%s is read at two revisions, in which it differs", f.Path))
			}
			h.files[f.Path] = f
		}
	}
	return nil
}
