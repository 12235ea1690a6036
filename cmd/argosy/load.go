package main

import (
	"context"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/migrate/existing"
)

// options holds the flags that all commands share, and the renderer of charts.
type options struct {
	repo   pipeline.Repository
	charts source.Charts
}

// state reads the repository and the facts and builds the state.
func (o *options) state(ctx context.Context, factsFrom []string) (*fleetstate.State, error) {
	f, err := factsfile.Read(factsFrom)
	if err != nil {
		return nil, err
	}
	st, _, err := o.repo.State(ctx, f)
	return st, err
}

// released builds the state with the catalogs of releases at other revisions of the repository. It
// also returns the pipelines that have read them.
func (o *options) released(ctx context.Context, factsFrom, instead []string) (*fleetstate.State, *pipeline.Pipelines, error) {
	pipelines, err := pipeline.New(ctx, pipeline.Options{Repository: o.repo, Tools: o.tools(), Instead: instead})
	if err != nil {
		return nil, nil, err
	}
	f, err := factsfile.Read(factsFrom)
	if err != nil {
		return nil, nil, err
	}
	st, err := pipelines.State(ctx, f)
	return st, pipelines, err
}

// factsFlag adds --facts.
func factsFlag(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "facts", nil, "facts of the clusters: a `file` of kind Facts, a folder of them, or none; may be repeated")
}

// revisionFlag adds --revision, which sets the option Instead of a planner.
func revisionFlag(cmd *cobra.Command, to *[]string, what string) {
	cmd.Flags().StringArrayVar(to, "revision", nil, "read "+what+" at REV instead of revision NAME of this repository: `NAME=REV`, may be repeated")
}

// noFleet holds the flags for a repository without a fleet.
type noFleet struct{ clusters, named, roots, repositories []string }

func (n *noFleet) flags(cmd *cobra.Command) {
	clustersFlags(cmd, &n.clusters, &n.named)
	repositoryFlag(cmd, &n.repositories)
	cmd.Flags().StringArrayVar(&n.roots, "root", nil, "without a fleet: follow only the roots at this `path`; may be repeated")
}

// of sets the options of pipelines. The clusters of facts count, too.
func (n *noFleet) of(ctx context.Context, o *pipeline.Options, f facts.Set) error {
	from := existing.Source{Clusters: n.clusters, Named: n.named, Repositories: n.repositories}
	clusters, err := from.ReadClusters(ctx)
	if err != nil {
		return err
	}
	o.Roots, o.Clusters = n.roots, slices.Concat(clusters, existing.FromFacts(f))
	others, err := from.Open(ctx)
	if err != nil || len(others.Others) == 0 {
		return err
	}
	var mu sync.Mutex
	o.Other = func(repoURL, revision string) (*snapshot.Snapshot, string) {
		mu.Lock()
		defer mu.Unlock()
		if others.Known(repoURL, "") == nil {
			return nil, ""
		}
		snap, err := others.Open(repoURL, revision)
		if err != nil {
			return nil, err.Error()
		}
		return snap, ""
	}
	return nil
}
