package hierarchy

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/budget"
)

// TemplateSuffix is the suffix of files that are Go templates.
const TemplateSuffix = ".gotmpl"

// IsTemplate reports whether a file is a Go template by its name.
func IsTemplate(p string) bool { return strings.HasSuffix(p, TemplateSuffix) }

// LevelSpec is a level as the layout declares it.
type LevelSpec struct {
	Name string `json:"name" expect:"the level's name"`
	// Dir is the level's folder, a template over the facts.
	Dir      string         `json:"dir" expect:"the level's folder"`
	Template *tmpl.Template `json:"-"` // of Dir
	// Required makes a missing value file of the level an error.
	Required bool        `json:"required,omitempty" jsonschema:"oneof_type=boolean;string"`
	Pos      problem.Pos `json:"-" is:"place"`
}

// Hierarchy is a list of levels, least specific first.
type Hierarchy struct{ levels []LevelSpec }

// New makes a hierarchy of levels.
func New(levels ...LevelSpec) *Hierarchy { return &Hierarchy{levels} }

// Dir is a level's folder for one cluster and group.
type Dir struct {
	Level    string
	Path     string
	Required bool
}

// Dirs returns the levels' folders for the cluster and group that the facts describe, least
// specific first. A folder that several levels name belongs only to the most specific of them. A
// level whose folder depends on an absent fact is left out. Errors are problem.Problem: a required
// level that is left out, a template that fails, or a path that leaves the repository.
func (h *Hierarchy) Dirs(facts any, absent ...string) ([]Dir, error) {
	dirs := make([]Dir, 0, len(h.levels))
	for _, l := range h.levels {
		if i := slices.IndexFunc(absent, func(fact string) bool { return l.Template.Reads(fact) }); i >= 0 {
			if l.Required {
				return nil, problem.Problem{
					Reason: problem.MissingLayer, Severity: problem.Error, Pos: l.Pos, Subject: fmt.Sprintf("level %q", l.Name),
					Found: fmt.Sprintf("is required, and the cluster has no %s", absent[i]), Expected: fmt.Sprintf("key %q in the member file", absent[i]),
				}
			}
			continue
		}
		text, err := l.Template.Execute(facts)
		if err != nil {
			return nil, err
		}
		p, err := snapshot.CleanPath(text)
		if err != nil {
			return nil, problem.Problem{
				Reason: problem.OutsideRepository, Severity: problem.Error, Pos: l.Pos,
				Subject: fmt.Sprintf("folder of level %q", l.Name), Found: err.Error(), Expected: "a path inside the repository",
			}
		}
		d := Dir{Level: l.Name, Path: p, Required: l.Required}
		if i := slices.IndexFunc(dirs, func(o Dir) bool { return o.Path == p }); i >= 0 {
			d.Required = d.Required || dirs[i].Required
			dirs = slices.Delete(dirs, i, i+1) // merged twice, its lists would be appended to themselves
		}
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// Reads reports whether any level's folder may depend on a fact.
func (h *Hierarchy) Reads(fact string) bool {
	return slices.ContainsFunc(h.levels, func(l LevelSpec) bool { return l.Template.Reads(fact) })
}

// Folder is a level's folder with the files in it.
type Folder struct {
	Dir
	*indexed
}

// Files returns the paths of the folder's files inside it, in any order.
func (f Folder) Files() iter.Seq[string] { return maps.Keys(f.files) }

// Size returns the bytes of the file at a path inside the folder and of the template beside it.
func (f Folder) Size(file string) int {
	size := 0
	for _, name := range []string{file, file + TemplateSuffix} {
		if at := f.file(name); at != nil {
			size += len(at.Data)
		}
	}
	return size
}

// Remember computes a value only from the folder's files, once for all snapshots with the same
// files.
func (f Folder) Remember(key any, compute func() any) any {
	if known, is := f.found.Load(key); is {
		return known
	}
	known, _ := f.found.LoadOrStore(key, compute())
	return known
}

// file returns the file at a path inside the folder, nil where there is none. Below a folder that
// cannot be read, it returns an error for every file.
func (f Folder) file(p string) *snapshot.File {
	file := f.files[p]
	if file == nil && len(f.broken) > 0 && p != "" {
		at := path.Join(f.Path, p)
		for _, b := range f.broken {
			if b.Path == f.Path || strings.HasPrefix(at, b.Path+"/") {
				return b.Below(at)
			}
		}
	}
	return file
}

// Index finds the files of folders in one snapshot. It finds them once for all clusters that share
// a folder, and for all snapshots with the same files in it. Several goroutines may use it.
type Index struct {
	s      *snapshot.Snapshot
	number int // the snapshot's number in the shared index
	shared *sharedIndex
}

// sharedIndex holds the folders of successive snapshots.
type sharedIndex struct {
	mu      sync.Mutex
	numbers int
	in      map[string]*indexed // by folder
	limit   int                 // number of folders beyond which changed ones are forgotten

	stacks     map[stackKey]*Stack
	stackLimit int // number of stacks beyond which stacks of changed folders are forgotten
	stale      int // number of files of changed folders, which stacks may hold in memory
}

// indexed has the files of a folder.
type indexed struct {
	list  []*snapshot.File
	files map[string]*snapshot.File // by path inside the folder
	// broken are the folders that cannot be read: inside this folder, or around it.
	broken []*snapshot.File
	// templates reports whether any file is a template.
	templates bool
	same      int // the number of the last snapshot that is known to have these files
	found     sync.Map
}

// indexSlack is the least number of folders before some are forgotten.
const indexSlack = 1000

// NewIndex makes an index of a snapshot.
func NewIndex(s *snapshot.Snapshot) *Index {
	return &Index{s: s, shared: &sharedIndex{
		in: map[string]*indexed{}, limit: indexSlack, stacks: map[stackKey]*Stack{}, stackLimit: indexSlack,
	}}
}

// Next makes an index of another snapshot, which shares with this one the folders that did not
// change.
func (x *Index) Next(s *snapshot.Snapshot) *Index {
	x.shared.mu.Lock()
	defer x.shared.mu.Unlock()
	x.shared.numbers++
	return &Index{s: s, number: x.shared.numbers, shared: x.shared}
}

// Folders returns the folders of levels with their files.
func (x *Index) Folders(dirs []Dir) []Folder {
	x.shared.mu.Lock()
	defer x.shared.mu.Unlock()
	out := make([]Folder, len(dirs))
	for i, d := range dirs {
		out[i] = Folder{Dir: d, indexed: x.folder(d.Path)}
	}
	return out
}

// folder returns a folder with its files. The caller holds the lock.
func (x *Index) folder(dir string) *indexed {
	known := x.shared.in[dir]
	if known != nil && known.same == x.number {
		return known
	}
	list := x.list(dir)
	if known == nil || !slices.Equal(known.list, list) {
		if len(x.shared.in) >= x.shared.limit {
			x.trim()
		}
		if known != nil {
			x.shared.stale += len(known.list)
		}
		known = &indexed{list: slices.Clone(list), files: make(map[string]*snapshot.File, len(list))}
		for _, f := range list {
			if f.Folder || !strings.HasPrefix(f.Path, dir+"/") && dir != "." {
				known.broken = append(known.broken, f)
			} else {
				known.files[strings.TrimPrefix(f.Path, dir+"/")] = f
				known.templates = known.templates || IsTemplate(f.Path)
			}
		}
		x.shared.in[dir] = known
	}
	known.same = x.number
	return known
}

// list returns the files and obstacles below a folder, and the folder around it that cannot be
// read, if any.
func (x *Index) list(dir string) []*snapshot.File {
	list := x.s.FilesUnder(dir)
	if obstacles := x.s.ObstaclesUnder(dir); len(obstacles) > 0 {
		list = slices.Concat(list, obstacles)
	}
	if above := x.s.BrokenFolder(dir); above != nil {
		list = append(slices.Clip(list), above)
	}
	return list
}

// trim forgets folders that this snapshot does not have, or has with other files. The caller holds
// the lock.
func (x *Index) trim() {
	for dir, known := range x.shared.in {
		if known.same != x.number && !slices.Equal(known.list, x.list(dir)) {
			delete(x.shared.in, dir)
		}
	}
	x.shared.limit = 2*len(x.shared.in) + indexSlack
}

// Optional returns the folders as folders that need no file.
func Optional(folders []Folder) []Folder {
	if !slices.ContainsFunc(folders, func(f Folder) bool { return f.Required }) {
		return folders
	}
	out := slices.Clone(folders)
	for i := range out {
		out[i].Required = false
	}
	return out
}

// Resolve finds the layers of files, given by their paths inside each level's folder. A level has,
// for each file in turn, the plain file and after it the template of the same name. Without either,
// it has one missing layer. Only templates need the facts. The cost is charged to the account,
// which may be nil. The error is a problem.List of all problems, or the account's error.
func Resolve(folders []Folder, cache *Cache, facts func() any, account *budget.Account, files ...string) ([]Layer, error) {
	layers := make([]Layer, 0, len(folders))
	var problems problem.List
	for _, d := range folders {
		isThere := false
		for _, file := range files {
			plainFile, templateFile := file, file+TemplateSuffix
			if IsTemplate(file) { // the layout names the template itself
				plainFile, templateFile = "", file
			}
			plain, template := d.file(plainFile), d.file(templateFile)
			isThere = isThere || plain != nil || template != nil
			if plain != nil {
				doc, err := cache.read(plain)
				problems = append(problems, problem.From(err, problem.InvalidYAML, problem.Pos{File: plain.Path})...)
				layers = appendLayer(layers, d, plain, doc)
				if err := account.Charge(problem.Pos{File: plain.Path}, doc.cost()); err != nil {
					return nil, err
				}
			}
			if template != nil {
				doc, cost, err := cache.render(template, facts())
				problems = append(problems, problem.From(err, problem.TemplateFailed, problem.Pos{File: template.Path})...)
				layers = appendLayer(layers, d, template, doc)
				if err := account.Charge(problem.Pos{File: template.Path}, cost); err != nil {
					return nil, err
				}
			}
		}
		if !isThere {
			layers = append(layers, Layer{Level: d.Level, Path: d.Path + "/" + files[0]})
			if d.Required {
				problems = append(problems, missing(d, files[0]))
			}
		}
	}
	for _, l := range layers {
		if p, bad := NotMap(l); bad {
			problems = append(problems, p)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return layers, nil
}

func appendLayer(layers []Layer, d Folder, file *snapshot.File, p parsed) []Layer {
	if p.doc == nil {
		return layers // unreadable: reported
	}
	return append(layers, Layer{Level: d.Level, Path: file.Path, Root: p.doc.Root, Nodes: p.nodes})
}

func missing(d Folder, file string) problem.Problem {
	return problem.Problem{
		Reason: problem.MissingLayer, Severity: problem.Error, Pos: problem.Pos{File: d.Path + "/" + file},
		Found: "no such file", Expected: fmt.Sprintf("a file, because level %q is required", d.Level),
	}
}

// NotMap reports a layer whose file does not hold a map: Helm refuses such a values file.
func NotMap(l Layer) (problem.Problem, bool) {
	if l.Root.IsNull() || l.Root.IsMap() {
		return problem.Problem{}, false
	}
	return problem.Problem{
		Reason: problem.InvalidValue, Severity: problem.Error, Pos: l.Root.Pos(),
		Subject: "the file", Found: "holds a " + l.Root.Kind.String(), Expected: "a map of values",
	}, true
}
