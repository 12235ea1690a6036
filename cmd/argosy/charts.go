package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/expand/fetch"
	"github.com/argosy-hub/argosy/internal/expand/helm"
)

// renderedCharts is what plan is told of charts from elsewhere.
type renderedCharts struct {
	render, offline bool
	cache           string
	kube            kubernetes
}

// kubernetes is what charts are rendered for.
type kubernetes struct {
	version string
	apis    []string
}

func (r *renderedCharts) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.render, "render", false, "render charts of Helm repositories, OCI registries and other Git repositories, too, and compare what they make")
	cmd.Flags().BoolVar(&r.offline, "offline", false, "with --render: fetch nothing, render what is in the cache")
	cmd.Flags().StringVar(&r.cache, "chart-cache", "", "with --render: the `folder` that what is fetched is kept in; the default is argosy/charts in the user's cache folder")
	cmd.Flags().StringVar(&r.kube.version, "kube-version", helm.KubeVersion, "the `version` of Kubernetes that charts are rendered for")
	cmd.Flags().StringSliceVar(&r.kube.apis, "api-versions", nil, "APIs that clusters have besides Kubernetes' own, for charts: `GROUP/VERSION,...`, or GROUP/VERSION/KIND")
}

// check refuses what means nothing.
func (r *renderedCharts) check() error {
	for flag, given := range map[string]bool{"--offline": r.offline, "--chart-cache": r.cache != ""} {
		if given && !r.render {
			return usageError([]string{"charts from elsewhere are rendered with --render"}, "%s without --render", flag)
		}
	}
	if err := helm.CheckKubeVersion(r.kube.version); err != nil {
		return usageError([]string{"for example --kube-version 1.33"}, "--kube-version: %w", err)
	}
	return nil
}

// extend has an expansion follow charts from elsewhere, if it is to, until done.
func (r *renderedCharts) extend(ctx context.Context, e *expansion) (done func(), err error) {
	e.kube = r.kube
	if !r.render {
		return func() {}, nil
	}
	dir := r.cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, usageError([]string{"--chart-cache names a folder"}, "no folder for charts: %w", err)
		}
		dir = filepath.Join(user, "argosy", "charts")
	}
	charts, err := fetch.New(ctx, fetch.Options{Dir: dir, Offline: r.offline})
	if err != nil {
		return nil, usageError(nil, "%w", err)
	}
	e.tools.Elsewhere = charts
	return charts.Close, nil
}
