package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
)

// nothingWritten is the hint of errors.
const nothingWritten = "nothing was written"

// Findings lists all findings of a state.
type Findings func(*fleetstate.State) []problem.Problem

// Repository is the folder of a fleet repository. Folder and Findings are required. Tools are
// required where a hub's roots are charts.
type Repository struct {
	Folder   string
	Findings Findings
	Tools    expand.Tools
	// Layout reads the file to use instead of the repository's own layout. If it is nil or returns
	// a nil file, the repository's own layout applies.
	Layout func() (*snapshot.File, error)
}

// Draft holds files with which the fleet has been built.
type Draft struct {
	// Files are new files, by path.
	Files map[string]string
	// Changes are files that get other content, in the order in which they are written.
	Changes []Change
	// Warnings are findings that the fleet does not have without the files.
	Warnings []problem.Problem
	// Summary describes the files, and Next the next steps, a line each.
	Summary string
	Next    []string

	Repository
	before *snapshot.Snapshot // the fleet as it is, which may be empty
	layout *fleet.Layout
}

// Change is a file of the repository with its content before and after.
type Change struct{ Path, Was, Is string }

// begin returns a draft without files.
func (r Repository) begin(ctx context.Context) (*Draft, error) {
	src, err := dir.New(r.Folder, source.Limits{})
	if err != nil {
		return nil, err
	}
	s, err := src.Snapshot(ctx)
	switch {
	case errors.Is(err, source.Empty): // the fleet's first file
		s = snapshot.FromMap(nil)
	case err != nil:
		return nil, err
	}
	if r.Layout != nil {
		file, err := r.Layout()
		switch {
		case err != nil:
			return nil, err
		case file != nil:
			s = s.With(map[string]*snapshot.File{fleet.LayoutFile: file})
		}
	}
	layout, err := layoutOf(s)
	if err != nil {
		return nil, problem.FailureOf(err, problem.InvalidLayout, problem.Pos{File: fleet.LayoutFile})
	}
	return &Draft{Repository: r, Files: map[string]string{}, before: s, layout: layout}, nil
}

// open returns a draft without files, and the fleet as it is.
func (r Repository) open(ctx context.Context) (*Draft, *fleetstate.State, error) {
	d, err := r.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	st, err := r.state(d.before)
	return d, st, err
}

func layoutOf(s *snapshot.Snapshot) (*fleet.Layout, error) {
	file := s.File(fleet.LayoutFile)
	if file == nil {
		return fleet.DefaultLayout(), nil
	}
	doc, err := hierarchy.NewCache().Doc(file)
	if err != nil {
		return nil, err
	}
	return fleet.ParseLayout(doc)
}

// state builds the fleet as it is. The error holds the findings that prevent a state.
func (r Repository) state(s *snapshot.Snapshot) (*fleetstate.State, error) {
	st, err := fleetstate.Build(nil, s, facts.Set{})
	if err != nil {
		return nil, problem.FailureOf(err, problem.InvalidLayout, problem.Pos{}, nothingWritten)
	}
	return st, nil
}

// texts adds texts of templates, by path.
func (d *Draft) texts(data any, names map[string]string) error {
	for path, name := range names {
		out, err := text(name, data)
		if err != nil {
			return err
		}
		d.Files[path] = out
	}
	return nil
}

// edit changes a YAML file, or begins it. The hint is for a file in which that cannot be done.
func (d *Draft) edit(file, hint string, change func(*yamldoc.Editor) error) error {
	was := d.before.File(file)
	at := slices.IndexFunc(d.Changes, func(c Change) bool { return c.Path == file })
	text := d.Files[file]
	switch {
	case at >= 0:
		text = d.Changes[at].Is
	case was != nil && was.Err != nil:
		return problem.Usage([]string{nothingWritten}, "%w", was.Err)
	case was != nil:
		text = string(was.Data)
	}
	e, err := yamldoc.NewEditor(file, text)
	if err == nil {
		err = change(e)
	}
	switch {
	case errors.Is(err, yamldoc.ErrForm):
		return problem.Usage([]string{hint, nothingWritten}, "%s %w", file, err)
	case err != nil:
		return problem.FailureOf(err, problem.InvalidYAML, problem.Pos{File: file}, nothingWritten)
	}
	switch is := e.String(); {
	case strings.TrimSuffix(is, "\n") == strings.TrimSuffix(text, "\n"):
	case at >= 0:
		d.Changes[at].Is = is
	case was != nil:
		d.Changes = append(d.Changes, Change{Path: file, Was: text, Is: is})
	default:
		d.Files[file] = is
	}
	return nil
}

// try builds the fleet with the files and sets Warnings. The error holds the findings that keep the
// files from being written.
func (d *Draft) try() (*fleetstate.State, error) {
	for i, c := range d.Changes {
		d.Changes[i].Is = withLineEnds(c.Was, c.Is)
	}
	for _, path := range slices.Sorted(maps.Keys(d.Files)) {
		switch is := d.before.File(path); {
		case is == nil:
		case is.Err != nil: // or what it would be in
			return nil, problem.Usage([]string{nothingWritten}, "%w", is.Err)
		default:
			return nil, errExists(path)
		}
	}
	known, _ := d.build(d.before)
	after, st := d.build(d.after())
	fresh := slices.DeleteFunc(slices.Clone(after), func(p problem.Problem) bool {
		return slices.ContainsFunc(known, func(q problem.Problem) bool { return problem.Compare(p, q) == 0 })
	})
	if errs := problem.Errors(fresh); len(errs) > 0 {
		return nil, &problem.Failure{
			Findings: true, Err: problem.List(errs), Problems: errs, Hints: []string{nothingWritten + ": fix these, then try again"},
		}
	}
	if st == nil {
		return nil, &problem.Failure{
			Findings: true, Err: problem.List(after), Problems: problem.Errors(after),
			Hints: []string{nothingWritten + ": the repository has these problems without the new file"},
		}
	}
	d.Warnings = fresh
	return st, nil
}

// build returns all findings about a snapshot, and its state if it has one.
func (r Repository) build(s *snapshot.Snapshot) ([]problem.Problem, *fleetstate.State) {
	st, err := fleetstate.Build(nil, s, facts.Set{})
	if err != nil {
		return problem.From(err, problem.InvalidLayout, problem.Pos{}), nil
	}
	return r.Findings(st), st
}

// after returns the repository with the files.
func (d *Draft) after() *snapshot.Snapshot {
	files := map[string]*snapshot.File{}
	for path, text := range d.Files {
		files[path] = snapshot.NewFile(path, []byte(text), snapshot.MaxFileSize)
	}
	for _, c := range d.Changes {
		files[c.Path] = snapshot.NewFile(c.Path, []byte(c.Is), snapshot.MaxFileSize)
	}
	return d.before.With(files)
}

// withLineEnds returns a file's new content with Windows line ends if all line ends of the old
// content are Windows line ends.
func withLineEnds(was, is string) string {
	if n := strings.Count(was, "\n"); n == 0 || n != strings.Count(was, "\r\n") {
		return is
	}
	return strings.ReplaceAll(strings.ReplaceAll(is, "\r\n", "\n"), "\n", "\r\n")
}

// errExists refuses to overwrite files.
func errExists(paths ...string) error {
	verb := "is"
	if len(paths) > 1 {
		verb = "are"
	}
	return problem.Usage([]string{"edit what is there, or choose another name"}, "%s %s there already; %s", strings.Join(paths, ", "), verb, nothingWritten)
}

// Write writes the files, all of them or none.
func (d *Draft) Write() error {
	files := map[string][]byte{}
	for path, text := range d.Files {
		files[path] = []byte(text)
	}
	var replacements []disk.Replacement
	for _, c := range d.Changes {
		replacements = append(replacements, disk.Replacement{Name: c.Path, Was: []byte(c.Was), Is: []byte(c.Is)})
	}
	err := disk.WriteAll(d.Folder, files, replacements)
	var taken []string
	for _, path := range d.paths() {
		if errors.Is(err, fs.ErrExist) && strings.Contains(err.Error(), path) {
			taken = append(taken, path)
		}
	}
	var part *disk.UnfinishedError
	switch {
	case len(taken) > 0:
		return errExists(taken...)
	case errors.As(err, &part):
		return problem.Usage([]string{"git status names what is left"}, "%w", err)
	case err != nil:
		return problem.Usage([]string{nothingWritten}, "%w", err)
	}
	return nil
}

// commit says what to do next: look, and commit under a title.
func (d *Draft) commit(title string) {
	d.Next = []string{"argosy plan --base HEAD", "git add . && git commit -m \"" + title + "\" && git push"}
}

// paths returns the new files, sorted.
func (d *Draft) paths() []string { return slices.Sorted(maps.Keys(d.Files)) }

// Report lists the files written and the next steps.
func (d *Draft) Report() string {
	var b strings.Builder
	for _, path := range d.paths() {
		fmt.Fprintf(&b, "wrote %s\n", path)
	}
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "changed %s\n", c.Path)
	}
	b.WriteString(d.Summary)
	for i, line := range d.Next {
		if i == 0 {
			b.WriteString("next:\n")
		}
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return b.String()
}

// Print writes the files' contents, and their paths if there are several.
func (d *Draft) Print(w io.Writer) error {
	files := maps.Clone(d.Files)
	for _, c := range d.Changes {
		files[c.Path] = c.Is
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if len(files) > 1 {
			if _, err := fmt.Fprintf(w, "--- %s\n", path); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(w, files[path]); err != nil {
			return err
		}
	}
	return nil
}
