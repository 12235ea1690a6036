package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/change/expand/fetch"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/externalsecrets"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// renderedCharts holds the flags of plan for remote charts.
type renderedCharts struct {
	render, offline bool
	cache           string
	allowed         []string
	// kubeVersion and apiVersions are the versions of the clusters that charts are rendered for.
	kubeVersion string
	apiVersions []string
}

func (r *renderedCharts) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.render, "render", false, "also render remote charts and compare their objects")
	cmd.Flags().BoolVar(&r.offline, "offline", false, "with --render: fetch nothing, render charts of the cache")
	cmd.Flags().StringVar(&r.cache, "chart-cache", "", "with --render: the `folder` for fetched charts; default: argosy/charts in the user's cache folder")
	cmd.Flags().StringSliceVar(&r.allowed, "allow", nil, "with --render: also fetch from these; default: what the base names. `URL,HOST,...`, or * for public hosts")
	cmd.Flags().StringVar(&r.kubeVersion, "kube-version", helm.KubeVersion, "the `version` of Kubernetes that charts are rendered for")
	cmd.Flags().StringSliceVar(&r.apiVersions, "api-versions", nil, "further APIs of the clusters, for charts: `GROUP/VERSION,...`, or GROUP/VERSION/KIND")
}

// check refuses flags that have no effect.
func (r *renderedCharts) check() error {
	for flag, given := range map[string]bool{"--offline": r.offline, "--chart-cache": r.cache != "", "--allow": r.allowed != nil} {
		if given && !r.render {
			return problem.Usage([]string{"--render renders remote charts"}, "%s without --render", flag)
		}
	}
	if err := helm.CheckKubeVersion(r.kubeVersion); err != nil {
		return problem.Usage([]string{"for example --kube-version 1.33"}, "--kube-version: %w", err)
	}
	return nil
}

// pipelines returns the pipelines of a planner with these charts. They are valid until done is
// called.
func (r *renderedCharts) pipelines(ctx context.Context, shared *options, instead []string, n noFleet, f facts.Set) (p *pipeline.Pipelines, done func(), err error) {
	o := pipeline.Options{
		Repository: shared.repo, Tools: shared.tools(), Secrets: externalsecrets.Read, KubeVersion: r.kubeVersion, APIVersions: r.apiVersions, Instead: instead,
	}
	done = func() {}
	if err := n.of(ctx, &o, f); err != nil {
		return nil, nil, err
	}
	if r.render {
		dir := r.cache
		if dir == "" {
			user, err := os.UserCacheDir()
			if err != nil {
				return nil, nil, problem.Usage([]string{"--chart-cache names a folder"}, "no folder for charts: %w", err)
			}
			dir = filepath.Join(user, "argosy", "charts")
		}
		charts, err := fetch.New(ctx, fetch.Options{Dir: dir, Offline: r.offline, Allowed: r.allowed})
		if err != nil {
			return nil, nil, problem.Usage(nil, "%w", err)
		}
		o.Remotes, done = charts, charts.Close
	}
	if p, err = pipeline.New(ctx, o); err != nil {
		done()
	}
	return p, done, err
}

// rendererArgument makes this program render charts for another process of it (package sandbox).
const rendererArgument = "__render-charts"

// renderer returns the command of a process that renders charts: this program itself.
func renderer() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, rendererArgument) //nolint:gosec,noctx // this program; Close ends it
	cmd.Args[0] = os.Args[0]
	return cmd, nil
}

// tools returns the libraries of Argo CD and kustomize, and of Helm in separate processes.
func (o *options) tools() expand.Tools {
	return expand.Tools{ApplicationSets: argocd.New(), Charts: o.charts, Kustomizations: kustomize.Kustomizations{}}
}
