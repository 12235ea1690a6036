package mount

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// Limits of what a mount adds to a fleet.
const (
	maxFiles = 5_000
	maxBytes = 16 << 20
	// maxValues counts the values of aliases as often as they are used. Without aliases files of
	// maxBytes have no more.
	maxValues = maxBytes / 2
	maxPath   = 512
)

// Read finds the files of a mount's commit that are joined, and the problems of files that break a
// limit. Files that before also has keep their identity, so that nothing is computed again.
func (s *Scope) Read(of *snapshot.Snapshot, before snapshot.Part) (snapshot.Part, []problem.Problem) {
	known := make(map[string]*snapshot.File, len(before.Files()))
	for _, f := range before.Files() {
		known[f.Path] = f
	}
	files := make([]*snapshot.File, 0, len(known))
	return s.read(of.Revision, func(yield func(string, *snapshot.File)) {
		for _, f := range slices.Concat(of.FilesUnder(""), s.obstacles(of)) {
			p := s.Path + "/" + f.Path
			if old := known[p]; old != nil && old.Digest == f.Digest && f.Err == nil && old.Err == nil {
				yield(f.Path, old)
			} else {
				yield(f.Path, f.At(p))
			}
		}
	}, files)
}

// obstacles finds the obstacles in the folders of levels. A plain file is not an obstacle there.
func (s *Scope) obstacles(of *snapshot.Snapshot) (out []*snapshot.File) {
	for _, o := range of.Obstacles() {
		if s.table.files.touches(o.Path) && !snapshot.IsPlain(o) {
			out = append(out, o)
		}
	}
	return out
}

// Keep finds which files of an earlier part are still within the limits, and which are not. While
// the team has no good file there are no limits: the part stays, and no member reads it.
func (s *Scope) Keep(p snapshot.Part) (snapshot.Part, []problem.Problem) {
	if s.team == nil {
		out := snapshot.NewPart(s.Path, s.URL, p.Revision, p.Files())
		out.Unknown = p.Unknown
		return out, s.Problems
	}
	out, problems := s.read(p.Revision, func(yield func(string, *snapshot.File)) {
		for _, f := range p.Files() {
			yield(strings.TrimPrefix(f.Path, s.Path+"/"), f)
		}
	}, nil)
	out.Unknown = p.Unknown
	return out, problems
}

func (s *Scope) read(revision string, each func(func(string, *snapshot.File)), files []*snapshot.File) (snapshot.Part, []problem.Problem) {
	r := reader{Scope: s, layout: s.table.fleet.Layout, files: s.table.files}
	problems := problem.List{}
	if s.team == nil {
		problems = append(problems, s.Problems...)
	} else {
		each(func(p string, f *snapshot.File) {
			r.problems = nil
			if joined := r.file(p, f); joined && len(problem.Errors(r.problems)) == 0 {
				files = append(files, f)
			}
			problems = append(problems, r.problems...)
		})
		if r.isFull() {
			problems = append(problems, problem.Problem{
				Reason: problem.LimitExceeded, Severity: problem.Error, Pos: problem.Pos{File: s.Path}, Subject: fmt.Sprintf("mount %q", s.Path),
				Found:    fmt.Sprintf("%d files of %d bytes with %d values, or more, in the folders of levels", r.count, r.size, r.values),
				Expected: fmt.Sprintf("at most %d files of %d bytes with %d values, aliases counted as often as they are used", maxFiles, maxBytes, maxValues),
			})
			files = nil
		}
	}
	part := snapshot.NewPart(s.Path, s.URL, revision, files)
	at := (&snapshot.Snapshot{}).Join([]snapshot.Part{part})
	out := problem.Cut(problem.Sorted(problems), problem.OfFile)
	for i := range out {
		out[i].Pos = at.Locate(out[i].Pos)
	}
	return part, out
}

// reader reads the files of one mount.
type reader struct {
	*Scope
	layout   *fleet.Layout
	files    levelFiles
	problems []problem.Problem
	// count, size and values count the levels' files so far: files, bytes, values.
	count, size, values int
}

// isFull reports that the files are beyond the limits: no further one is read.
func (r *reader) isFull() bool {
	return r.count > maxFiles || r.size > maxBytes || r.values > maxValues
}

// file decides whether the file at a path of the mount's repository is joined. A file with a
// problem is not.
func (r *reader) file(p string, f *snapshot.File) bool {
	out := func(found, expected string, hints ...string) bool {
		r.add(problem.Pos{File: f.Path}, "", found, expected, hints...)
		return false
	}
	folded := strings.ToLower(p)
	switch found := r.files.of(p); {
	case !isPlain(p):
		if r.files.touches(folded) || r.files.isFleetsOwn(p) {
			return out(fmt.Sprintf("the path %.100q has characters that a fleet's files do not have", p), "printable UTF-8 without . and .. as folders")
		}
		return false
	case r.files.isFleetsOwn(p):
		return out("only the fleet repository has such a file", "values files and catalogs of levels", "it has no effect in the repository of a mount")
	case len(found) > 0:
		if r.count, r.size = r.count+1, r.size+len(f.Data); r.isFull() {
			return false
		}
		for _, of := range found {
			if !r.levelFile(f, of) {
				return false
			}
		}
		return true
	case f.Err != nil && (r.files.touches(p) || f.Folder && p == "."):
		r.problems = append(r.problems, problem.From(f.Err, problem.OutsideRepository, problem.Pos{File: f.Path})...)
		return false
	case r.files.contains(p):
		return out("is in a level's folder, and no values file or catalog", "<level>/"+r.layout.Values.String()+" or <level>/"+r.layout.Catalog.String())
	case folded != p && len(r.files.of(folded)) > 0:
		return out("differs from a level's file in the case of letters", fmt.Sprintf("%q", folded))
	case r.inRoot(p):
		return out("is in the root folder of a group", "the folders of levels at the root of the mount's repository")
	}
	return false
}

// isPlain reports whether a path is clean, valid UTF-8, printable and not too long.
func isPlain(p string) bool {
	if clean, err := snapshot.CleanPath(p); err != nil || clean != p || len(p) > maxPath || !utf8.ValidString(p) {
		return false
	}
	return strings.IndexFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// inRoot reports whether a path would be a level's file if the mount were the fleet repository.
func (r *reader) inRoot(p string) bool {
	for _, g := range r.layout.Groups {
		if rest, ok := strings.CutPrefix(p, g.Root+"/"); ok && len(r.files.of(rest)) > 0 {
			return true
		}
	}
	return false
}

// levelFile checks a values file or a catalog of a level.
func (r *reader) levelFile(f *snapshot.File, of levelFile) bool {
	pos := problem.Pos{File: f.Path}
	before := len(r.problems)
	r.place(pos, of)
	if f.Err != nil {
		r.problems = append(r.problems, problem.From(f.Err, problem.LimitExceeded, pos)...)
	}
	if len(r.problems) > before {
		return false
	}
	switch {
	case of.isTemplate && of.isCatalog:
		r.add(pos, "a catalog", "is a template", "a plain file: what it would say on each cluster cannot be checked")
	case !of.isTemplate:
		r.values += r.table.documents.Nodes(f)
		doc, err := r.table.documents.Doc(f)
		if err != nil {
			r.problems = append(r.problems, problem.From(err, problem.InvalidYAML, pos)...)
		} else if of.isCatalog {
			r.catalog(of.group, doc.Root)
		}
	}
	return len(r.problems) == before
}

// place checks that a level's file is read only by the team's components.
func (r *reader) place(pos problem.Pos, of levelFile) {
	if of.tenant != "" && of.tenant != r.team.Tenant {
		r.add(pos, fmt.Sprintf("level %q of tenant %q", of.level, of.tenant), fmt.Sprintf("team %q is of tenant %q", r.Team, r.team.Tenant), "the folders of the team's own tenant")
	}
	if of.cluster != "" && !r.reaches(of.cluster) {
		r.add(pos, fmt.Sprintf("level %q of cluster %q", of.level, of.cluster), fmt.Sprintf("team %q does not reach the cluster", r.Team), "a cluster that the team's file selects")
	}
	if of.isCatalog && of.group != Group {
		r.add(pos, fmt.Sprintf("catalog of group %q", of.group), "its components are not the team's", "group "+Group)
	}
	if !of.isCatalog {
		for _, component := range r.readersOf(of) {
			if !r.Owns(of.group, component) {
				r.add(pos, fmt.Sprintf("values of component %q of group %q", component, of.group), "it is not the team's", r.itsOwn())
			}
		}
	}
}

// readersOf finds the components that read a values file: its component, or the components of its
// folder where the layout's path has one. There is always one.
func (r *reader) readersOf(of levelFile) (out []string) {
	if of.folder == "" {
		return []string{of.component}
	}
	for _, component := range r.table.components {
		if (of.component == "" || of.component == component) && r.table.folder(of.group, component) == of.folder {
			out = append(out, component)
		}
	}
	if len(out) == 0 {
		return []string{of.folder}
	}
	return out
}

// itsOwn names the components that a mount may name, for an error.
func (s *Scope) itsOwn() string {
	return fmt.Sprintf("a component that a catalog of the layout gives to team %s", s.Team)
}

// reaches reports whether the team reaches a cluster of any hub.
func (s *Scope) reaches(cluster string) bool {
	for _, hub := range s.table.fleet.Hubs() {
		if m := s.table.fleet.Member(hub, cluster); m != nil && !m.IsHub && s.table.teams.Of(m).Has(s.team) {
			return true
		}
	}
	return false
}

func (r *reader) add(pos problem.Pos, subject, found, expected string, hints ...string) {
	r.problems = append(r.problems, problem.Problem{
		Reason: problem.MountBounds, Severity: problem.Error, Pos: pos, Subject: subject, Found: found, Expected: expected, Hints: hints,
		Related: []problem.Pos{r.Pos},
	})
}
