package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

// options are the flags that all commands share.
type options struct {
	repo, ref string
}

// snapshot reads the repository.
func (o *options) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	return o.snapshotOf(ctx, source.Limits{})
}

func (o *options) snapshotOf(ctx context.Context, limits source.Limits) (*snapshot.Snapshot, error) {
	s, err := source.Open(source.Options{Location: o.repo, Ref: o.ref, Limits: limits})
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
func (o *options) state(ctx context.Context, factsFile string) (*generator.State, error) {
	st, _, err := o.read(ctx, factsFile)
	return st, err
}

// released is state with the catalogs of releases at other revisions of the repository; instead names others to take for them.
func (o *options) released(ctx context.Context, factsFile string, instead []string) (*generator.State, error) {
	other, err := o.newExpansion(ctx, instead, io.Discard)
	if err != nil {
		return nil, err
	}
	st, s, err := o.read(ctx, factsFile)
	if err != nil {
		return nil, err
	}
	st.ReadCatalogs(other.catalogs(st, s))
	return st, nil
}

func (o *options) read(ctx context.Context, factsFile string) (*generator.State, *snapshot.Snapshot, error) {
	f, err := readFacts(factsFile)
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

// readFacts reads a facts file; no file is no facts.
func readFacts(file string) (facts.Set, error) {
	if file == "" {
		return facts.Set{}, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return facts.Set{}, usageError(nil, "--facts: %w", err)
	}
	f, err := facts.Parse(file, data)
	if err != nil {
		return facts.Set{}, &failure{status: exitUsage, err: fmt.Errorf("--facts: %w", err), problems: problem.From(err, problem.InvalidValue, problem.Pos{File: file})}
	}
	return f, nil
}
