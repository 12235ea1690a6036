package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
)

// Charts are the limits of snapshots whose charts are rendered.
var Charts = source.Limits{Charts: true}

// Repository is the fleet repository: a folder, a bare repository, or a Git URL. Ref is the
// revision to read of a bare repository or a URL.
type Repository struct {
	Location, Ref string
	// Flag is the flag that names Location, for hints; empty for --repo.
	Flag string
	// Layout is a file that replaces the own layout of every revision; empty for none.
	Layout string
	// Mounts are the repositories that the fleet's layout mounts: `PATH=DIR`, or `PATH=git` for the
	// repository that the layout names. MountBase holds the revisions of those folders for a plan's
	// base: `PATH=REV`.
	Mounts, MountBase []string
	// anyName has files of any name read: kustomizations and charts may have them.
	anyName bool
	// base holds the mounts of the base, for the head of a plan: `PATH=git` fetches what they name.
	base *baseMounts
	// Warn is called with each problem of something that is left out.
	Warn func(problem.Problem)
}

// LayoutFile reads Layout; nil without one.
func (r Repository) LayoutFile() (*snapshot.File, error) {
	if r.Layout == "" {
		return nil, nil
	}
	data, err := os.ReadFile(r.Layout)
	if err != nil {
		return nil, problem.Usage([]string{"--layout names a file of this machine, and not of a revision"}, "--layout: %w", err)
	}
	return snapshot.NewFile(filepath.ToSlash(r.Layout), data, snapshot.MaxFileSize), nil
}

// withLayout returns a snapshot with Layout instead of its own layout.
func (r Repository) withLayout(s *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	file, err := r.LayoutFile()
	if err != nil || file == nil {
		return s, err
	}
	return s.With(map[string]*snapshot.File{fleet.LayoutFile: file}), nil
}

// Root returns the root of the fleet repository around a folder, as a relative path. It is the
// nearest folder that has a layout or a members folder, or the root of the clone; outside of a
// clone it is the folder itself.
func Root(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for at, up := abs, dir; ; at, up = filepath.Dir(at), filepath.Join(up, "..") {
		switch {
		case exists(at, fleet.LayoutFile), exists(at, "fleet/fleet-members"), exists(at, ".git"):
			return up
		case at == filepath.Dir(at):
			return dir
		}
	}
}

func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

// Revision returns the revision to read of a repository without a working tree. It is empty for a
// folder, which is read as it is.
func (r Repository) Revision() (string, error) {
	switch {
	case git.IsURL(r.Location):
		return cmp.Or(r.Ref, "main"), nil
	case git.IsBareRepository(r.Location):
		return cmp.Or(r.Ref, "HEAD"), nil
	case r.Ref != "":
		return "", problem.Usage([]string{fmt.Sprintf("git worktree add ../other %s makes a folder of that revision", r.Ref)}, "--ref %s: %q is a folder, which is read as it is", r.Ref, r.Location)
	}
	return "", nil
}

// Snapshot reads the repository. If its mounts have problems, it also returns the snapshot with
// which lint continues.
func (r Repository) Snapshot(ctx context.Context, limits source.Limits) (*snapshot.Snapshot, error) {
	ref, err := r.Revision()
	if err != nil {
		return nil, err
	}
	s, err := location.Open(git.Options{Location: r.Location, Ref: ref, Limits: limits})
	if err != nil {
		return nil, r.readError(err)
	}
	snap, err := s.Snapshot(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, r.readError(err)
	}
	return r.complete(ctx, snap, limits, false)
}

// revision reads a plan's head, and completes its name, which is empty for a folder.
func (r Repository) revision(ctx context.Context, name *string) (*snapshot.Snapshot, error) {
	if *name == "" {
		var err error
		if *name, err = r.Revision(); err != nil {
			return nil, err
		}
	}
	if *name == "" {
		return r.Snapshot(ctx, r.limits())
	}
	return r.at(ctx, "--head", *name)
}

// limits bounds a snapshot that is followed to objects.
func (r Repository) limits() source.Limits {
	out := Charts
	out.AnyName = r.anyName
	return out
}

// State reads the repository and builds its state with facts.
func (r Repository) State(ctx context.Context, f facts.Set) (*fleetstate.State, *snapshot.Snapshot, error) {
	s, err := r.Snapshot(ctx, source.Limits{})
	if err != nil {
		return nil, nil, err
	}
	st, err := fleetstate.Build(nil, s, f)
	if err != nil {
		return nil, nil, problem.FailureOf(err, problem.InvalidLayout, problem.Pos{})
	}
	return st, s, nil
}

// at reads a revision of a clone, which a flag names.
func (r Repository) at(ctx context.Context, flag, revision string) (*snapshot.Snapshot, error) {
	s, err := git.Revision(ctx, r.Location, revision, r.limits())
	if err != nil {
		return nil, revisionError(flag, err)
	}
	return r.complete(ctx, s, r.limits(), flag == "--base")
}

// MergeBase returns the commit of a clone where HEAD has parted from a revision.
func (r Repository) MergeBase(ctx context.Context, revision string) (string, error) {
	commit, err := git.MergeBase(ctx, r.Location, revision)
	if err != nil {
		return "", revisionError("BASE", err, "fetch the whole history (fetch-depth: 0, GIT_DEPTH: 0)")
	}
	return commit, nil
}

// revisionError explains a revision that a flag or an argument names, with further hints.
func revisionError(flag string, err error, more ...string) error {
	var e *source.Error
	if !errors.As(err, &e) {
		return problem.Usage(nil, "%s: %w", flag, err)
	}
	var hints []string
	if e.Hint != "" {
		hints = []string{e.Hint}
	}
	if e.Reason == source.NotFound || e.Reason == source.InvalidOptions {
		hints = []string{"--repo takes the root folder of a clone; revisions are read from its Git repository"}
	}
	return problem.Usage(append(hints, more...), "%s: %s: %s", flag, e.Source, e.Detail)
}

// ReadError adds a hint to the error of the fleet repository. Errors of commands and nil stay as
// they are.
func ReadError(err error) error { return Repository{}.readError(err) }

func (r Repository) readError(err error) error {
	var own *problem.Failure
	if err == nil || errors.As(err, &own) {
		return err
	}
	var hints []string
	var e *source.Error
	switch isMissing := errors.As(err, &e) && e.Reason == source.NotFound; {
	case isMissing && r.Flag == "":
		hints = []string{"--repo names the fleet repository; the default is the working directory"}
	case isMissing:
		hints = []string{r.Flag + " takes a folder, a bare repository or a URL"}
	}
	return problem.Usage(hints, "%w", err)
}
