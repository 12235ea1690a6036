package scaffold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	// Files are the contents to write, by path: of new files, and of files that change.
	Files map[string]string
	// Warnings are findings that the fleet does not have without the files.
	Warnings []problem.Problem
	// Summary describes the files, and Next the next steps, a line each.
	Summary string
	Next    []string

	Repository
	before  *snapshot.Snapshot // the fleet as it is, which may be empty
	layout  *fleet.Layout
	changed []string // the files that exist, in the order in which they are written
	err     error    // the first error of texts, edit and setOn, which try returns
}

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
func (d *Draft) texts(data any, names map[string]string) {
	for path, name := range names {
		out, err := text(name, data)
		d.err = cmp.Or(d.err, err)
		d.Files[path] = out
	}
}

// change sets the content of a file that exists already, or makes a new file.
func (d *Draft) change(file, text string) {
	if was := d.before.File(file); was != nil {
		if !slices.Contains(d.changed, file) {
			d.changed = append(d.changed, file)
		}
		text = withLineEnds(string(was.Data), text)
	}
	d.Files[file] = text
}

// edit changes a YAML file, or begins it. The hint is for a file in which that cannot be done.
func (d *Draft) edit(file, hint string, change func(*yamldoc.Editor) error) {
	text, drafted := d.Files[file]
	was := d.before.File(file)
	switch {
	case d.err != nil:
		return
	case was != nil && was.Err != nil:
		d.err = refuse("%w", was.Err)
		return
	case was != nil && !drafted:
		text = string(was.Data)
	}
	e, err := yamldoc.NewEditor(file, text)
	if err == nil {
		err = change(e)
	}
	var refused *problem.Failure
	switch {
	case errors.As(err, &refused):
		d.err = err
	case errors.Is(err, yamldoc.ErrForm):
		d.err = problem.Usage([]string{hint, nothingWritten}, "%s %w", file, err)
	case err != nil:
		d.err = problem.FailureOf(err, problem.InvalidYAML, problem.Pos{File: file}, nothingWritten)
	case strings.TrimSuffix(e.String(), "\n") != strings.TrimSuffix(text, "\n"):
		d.change(file, e.String())
	}
}

// try builds the fleet with the files, which it returns, and sets Warnings. The error holds the
// findings that keep the files from being written.
func (d *Draft) try() (*fleetstate.State, error) {
	if d.err != nil {
		return nil, d.err
	}
	for _, path := range d.fresh() {
		if is := d.before.File(path); is != nil && is.Err != nil { // or what it would be in
			return nil, refuse("%w", is.Err)
		} else if is != nil {
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

// refuse returns an error of a command that writes nothing.
func refuse(format string, args ...any) error {
	return problem.Usage([]string{nothingWritten}, format, args...)
}

// errExists refuses to overwrite a file or a folder.
func errExists(path string) error {
	return problem.Usage([]string{"edit what is there, or choose another name"}, "%s is there already; %s", path, nothingWritten)
}

// oneOf returns an error for a name that the fleet does not have; what describes the names it has.
func oneOf(subject, name, what string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return problem.Usage(append(problem.Nearest(name, names), nothingWritten), "%s: %q is not one of the %s: %s", subject, name, what, cmp.Or(strings.Join(names, ", "), "there is none"))
}

// Write writes the files, all of them or none.
func (d *Draft) Write() error {
	files := map[string][]byte{}
	for _, path := range d.fresh() {
		files[path] = []byte(d.Files[path])
	}
	var replacements []disk.Replacement
	for _, path := range d.changed {
		replacements = append(replacements, disk.Replacement{Name: path, Was: d.before.File(path).Data, Is: []byte(d.Files[path])})
	}
	err := disk.WriteAll(d.Folder, files, replacements)
	var part *disk.UnfinishedError
	switch {
	case errors.As(err, &part):
		return problem.Usage([]string{"git status names what is left"}, "%w", err)
	case err != nil:
		return refuse("%w", err)
	}
	return nil
}

// ready tries the draft and sets the next steps.
func (d *Draft) ready(next ...string) (*Draft, error) {
	if _, err := d.try(); err != nil {
		return nil, err
	}
	d.Next = next
	return d, nil
}

// commit returns the command that commits the files under a title.
func commit(title string) string {
	return "git add . && git commit -m \"" + title + "\" && git push"
}

// fresh returns the new files, sorted.
func (d *Draft) fresh() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.Files)), func(path string) bool { return slices.Contains(d.changed, path) })
}

// Report lists the files written and the next steps.
func (d *Draft) Report() string {
	var b strings.Builder
	for _, path := range d.fresh() {
		fmt.Fprintf(&b, "wrote %s\n", path)
	}
	for _, path := range d.changed {
		fmt.Fprintf(&b, "changed %s\n", path)
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
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(d.Files)) {
		if len(d.Files) > 1 {
			fmt.Fprintf(&b, "--- %s\n", path)
		}
		b.WriteString(d.Files[path])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
