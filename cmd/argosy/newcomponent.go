package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/cmd/argosy/draft"
	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newComponent(o *options) *cobra.Command {
	var c scaffold.Component
	cmd := &cobra.Command{
		Use:   "component --name NAME --repo-url URL --version VERSION",
		Short: "Add a component to a group's catalog",
		Long: `New component adds an entry, switched on, to the last catalog that the layout names for the group, or
without one to the catalog of the first level. It builds the fleet with the entry first, refuses a component
that a catalog has, and names the clusters that get it. Everything else in the file stays as it is.`,
		Example: `  argosy new component --name podinfo --repo-url https://stefanprodan.github.io/podinfo --version 6.9.0
  argosy new component --name quotas --repo-url https://git.example.com/platform/quotas.git --path base --manifests --version v1.2.0`,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Name, "name", "", "the component's name")
	flags.StringVar(&c.Group, "group", "addons", "its group")
	flags.StringVar(&c.RepoURL, "repo-url", "", "`URL` of the Helm repository, the OCI registry or the Git repository")
	flags.StringVar(&c.Chart, "chart", "", "the chart's `name` there (default: the component's)")
	flags.StringVar(&c.Path, "path", "", "instead of a chart: a `folder` in Git")
	flags.StringVar(&c.Version, "version", "", "the chart's version; of a folder in Git the revision")
	flags.StringVar(&c.Namespace, "namespace", "", "where it is deployed (default: the component's name)")
	flags.BoolVar(&c.Manifests, "manifests", false, "the folder has manifests or a kustomization, not a chart")
	o.completeFleet(cmd, "group", groups)
	return draft.Command(o.write, cmd, &c, scaffold.NewComponent, "name", "repo-url", "version")
}
