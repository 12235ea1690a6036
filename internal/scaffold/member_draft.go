package scaffold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/explain"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/failure"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
)

// Draft is a member file with which the fleet has been built.
type Draft struct {
	Path, Text string
	// Warnings are findings that the fleet does not have without the file.
	Warnings []problem.Problem
	// Summary names the components that the cluster would get.
	Summary string
}

// New makes the file of a member and builds the fleet of a folder with it. The error holds the
// findings that keep the file from being written. Findings lists all findings of a state.
func New(ctx context.Context, folder string, m Member, findings func(*fleetstate.State) []problem.Problem) (Draft, error) {
	src, err := dir.New(folder, source.Limits{})
	if err != nil {
		return Draft{}, err
	}
	before, err := src.Snapshot(ctx)
	switch {
	case errors.Is(err, source.Empty): // the fleet's first file
		before = snapshot.FromMap(nil)
	case err != nil:
		return Draft{}, err
	}
	layout, err := layoutOf(before)
	if err != nil {
		return Draft{}, failure.Findings(err, problem.InvalidLayout, problem.Pos{File: fleet.LayoutFile})
	}
	if err := m.checkGroups(layout); err != nil {
		return Draft{}, err
	}
	d := Draft{Text: m.Text()}
	if d.Path, err = m.path(layout); err != nil {
		return Draft{}, err
	}
	if before.File(d.Path) != nil {
		return Draft{}, ErrExists(d.Path)
	}
	known, _ := build(before, findings)
	after, st := build(with(before, d.Path, d.Text), findings)
	fresh := slices.DeleteFunc(after, func(p problem.Problem) bool {
		return slices.ContainsFunc(known, func(q problem.Problem) bool { return problem.Compare(p, q) == 0 })
	})
	if errs := problem.Errors(fresh); len(errs) > 0 {
		return Draft{}, &failure.Error{
			Findings: true, Err: problem.List(errs), Problems: errs, Hints: []string{"nothing was written: fix these, then try again"},
		}
	}
	if st == nil {
		return Draft{}, &failure.Error{
			Findings: true, Err: problem.List(after), Problems: problem.Errors(after),
			Hints: []string{"nothing was written: the repository has these problems without the new file"},
		}
	}
	d.Warnings, d.Summary = fresh, summary(st, m)
	return d, nil
}

// ErrExists refuses to overwrite a file.
func ErrExists(path string) error {
	return failure.Usage([]string{"edit the file, or choose another --name"}, "%s is there already; nothing was written", path)
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

// with is a snapshot with one more file.
func with(s *snapshot.Snapshot, path, text string) *snapshot.Snapshot {
	files := []*snapshot.File{snapshot.NewFile(path, []byte(text), snapshot.MaxFileSize)}
	for _, f := range s.FilesUnder("") {
		if f.Path != path {
			files = append(files, f)
		}
	}
	return snapshot.Of(files)
}

// build returns all findings about a snapshot, and its state if it has one.
func build(s *snapshot.Snapshot, findings func(*fleetstate.State) []problem.Problem) ([]problem.Problem, *fleetstate.State) {
	st, err := fleetstate.Build(nil, s, facts.Set{})
	if err != nil {
		return problem.From(err, problem.InvalidLayout, problem.Pos{}), nil
	}
	return findings(st), st
}

// summary names the components that the cluster would get.
func summary(st *fleetstate.State, m Member) string {
	var b strings.Builder
	for _, group := range st.Fleet.Layout.GroupNames() {
		var names []string
		for _, component := range st.ComponentsOf(m.Hub, m.Name, group) {
			t := explain.Target{Hub: m.Hub, Cluster: m.Name, Group: group, Component: component}
			if e, err := explain.Component(st, t, nil); err == nil && e.IsSelected() {
				names = append(names, component)
			}
		}
		if len(names) == 0 {
			continue
		}
		owner := "the hub"
		if member := st.Fleet.Member(m.Hub, m.Name); member.Owner(group) != fleet.OwnerHub {
			owner = "its own engine"
		}
		fmt.Fprintf(&b, "%s (from %s): %s\n", group, owner, strings.Join(names, ", "))
	}
	if b.Len() == 0 {
		return "it would get no component yet: the hierarchy enables none for it\n"
	}
	return b.String()
}
