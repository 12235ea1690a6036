package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newHub(o *options) *cobra.Command {
	var h scaffold.Installation
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "hub --name NAME",
		Short: "Write a further hub: its member file and its installation",
		Long: `New hub writes the member file of a hub and the Application by which the hub installs itself, in
fleet/bootstrap/NAME. A fleet without releases gets its ApplicationSets there, too. It builds the fleet with
the files first, and writes them only if the fleet has no further error. It never overwrites a file.`,
		Example: `  argosy new hub --name hub-us
  argosy new hub --name hub-us --repo-url https://git.example.com/platform/fleet.git --hub-environment staging`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.write(cmd, dryRun, func(r scaffold.Repository) (*scaffold.Draft, error) { return scaffold.NewHub(cmd.Context(), r, h) })
		},
	}
	hubFlags(cmd, &h, "name", "")
	cmd.Flags().Lookup("repo-url").Usage += " (default that of another hub)"
	cmd.Flags().Lookup("revision").Usage += " (default that of another hub)"
	dryRunFlag(cmd, &dryRun)
	return cmd
}
