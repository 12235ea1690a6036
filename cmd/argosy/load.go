package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
)

// options are the flags that all commands share.
type options struct {
	repo, ref string
}

// revision is the one that is read of a repository without a working tree; empty for a folder, which is read as it is.
func (o *options) revision() (string, error) {
	switch {
	case git.IsURL(o.repo):
		return cmp.Or(o.ref, "main"), nil
	case git.IsBareRepository(o.repo):
		return cmp.Or(o.ref, "HEAD"), nil
	case o.ref != "":
		return "", usageError([]string{fmt.Sprintf("git worktree add ../other %s makes a folder of that revision", o.ref)}, "--ref %s: %q is a folder, which is read as it is", o.ref, o.repo)
	}
	return "", nil
}

// snapshot reads the repository.
func (o *options) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	return o.snapshotOf(ctx, source.Limits{})
}

func (o *options) snapshotOf(ctx context.Context, limits source.Limits) (*snapshot.Snapshot, error) {
	ref, err := o.revision()
	if err != nil {
		return nil, err
	}
	s, err := location.Open(git.Options{Location: o.repo, Ref: ref, Limits: limits})
	if err != nil {
		return nil, readError(err)
	}
	snap, err := s.Snapshot(ctx)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, readError(err)
	}
	return snap, nil
}

func readError(err error) error {
	var hints []string
	var e *source.Error
	if errors.As(err, &e) && e.Reason == source.NotFound {
		hints = []string{"--repo says where the fleet's repository is; the default is the working directory"}
	}
	return usageError(hints, "%w", err)
}

// state reads the repository and the facts, and computes everything that does not depend on a question.
func (o *options) state(ctx context.Context, factsFrom []string) (*generator.State, error) {
	st, _, err := o.read(ctx, factsFrom)
	return st, err
}

// released is state with the catalogs of releases at other revisions of the repository; instead names others to take for them.
func (o *options) released(ctx context.Context, factsFrom []string, instead []string) (*generator.State, error) {
	other, err := o.newExpansion(ctx, instead, io.Discard)
	if err != nil {
		return nil, err
	}
	st, s, err := o.read(ctx, factsFrom)
	if err != nil {
		return nil, err
	}
	return st.WithCatalogs(other.catalogs(st, s)), nil
}

func (o *options) read(ctx context.Context, factsFrom []string) (*generator.State, *snapshot.Snapshot, error) {
	f, err := readFacts(factsFrom)
	if err != nil {
		return nil, nil, err
	}
	s, err := o.snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	st, err := generator.Build(nil, s, f)
	if err != nil {
		return nil, nil, &failure{status: exitFindings, err: err, problems: problem.From(err, problem.InvalidLayout, problem.Pos{})}
	}
	return st, s, nil
}
