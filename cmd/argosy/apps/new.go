// Package apps has the commands for applications of teams.
package apps

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/cmd/argosy/draft"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Complete lets the shell complete a flag's value from the repository.
type Complete func(cmd *cobra.Command, flag string, values func(*fleetstate.State) []string)

// New returns the command `argosy new app`.
func New(write draft.Write, complete Complete) *cobra.Command {
	var a scaffold.App
	cmd := &cobra.Command{
		Use:   "app NAME --team TEAM --repo-url URL --version VERSION",
		Short: "Add a team's application to the catalog of the group workloads",
		Long: `New app adds an application to the catalog of the group workloads. It is a chart, a folder with a chart
(--path), or a folder of manifests or a kustomization (--path with --manifests). The path is a template over
the cluster's facts: overlays/{{ .environment }} is a folder for each environment.

The application is on all clusters of its team, or with --cluster on some of them. A chart also gets a file
with its values for the team's tenant. The command builds the fleet with the files first. It refuses an
existing application, and a cluster or namespace that is not the team's.`,
		Example: `  argosy new app storefront-web --team storefront --repo-url https://git.example.com/storefront/web --path chart --version main
  argosy new app checkout-api --team checkout --namespace checkout --cluster payments-dev-eu-1 \
      --repo-url https://git.example.com/checkout/api --path 'overlays/{{ .environment }}' --manifests --version main`,
		Args:   cobra.ExactArgs(1),
		PreRun: func(_ *cobra.Command, args []string) { a.Name = args[0] },
	}
	flags := cmd.Flags()
	flags.StringVar(&a.Team, "team", "", "whose application it is")
	flags.StringVar(&a.RepoURL, "repo-url", "", "`URL` of the Git repository, the Helm repository or the OCI registry; one of the team's")
	flags.StringVar(&a.Chart, "chart", "", "the chart's `name` there (default: the application's)")
	flags.StringVar(&a.Path, "path", "", "instead of a chart: a `folder` in Git")
	flags.StringVar(&a.Version, "version", "", "the chart's version; of a folder in Git the revision")
	flags.StringVar(&a.Namespace, "namespace", "", "one of the team's (default: its only one, or the one with the application's name)")
	flags.BoolVar(&a.Manifests, "manifests", false, "the folder has manifests or a kustomization, not a chart")
	flags.StringArrayVar(&a.Clusters, "cluster", nil, "a `cluster` of the team that gets it; may be repeated (default all)")
	complete(cmd, "team", teams)
	complete(cmd, "cluster", clusters)
	return draft.Command(write, cmd, &a, scaffold.NewApp, "team", "repo-url", "version")
}

// clusters returns the names of all members.
func clusters(st *fleetstate.State) (out []string) {
	for m := range st.Clusters() {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// teams returns the names of all teams.
func teams(st *fleetstate.State) (out []string) {
	if table := st.Resolver().Teams(); table != nil {
		for _, t := range table.Teams {
			out = append(out, t.Name)
		}
	}
	return out
}
