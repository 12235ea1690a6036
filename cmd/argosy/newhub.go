package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/cmd/argosy/draft"
	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newHub(o *options) *cobra.Command {
	var h scaffold.Installation
	cmd := &cobra.Command{
		Use:   "hub --name NAME",
		Short: "Write a further hub: its member file and its installation",
		Long: `New hub writes the member file of a hub and the Application by which the hub installs itself, in
fleet/bootstrap/NAME. A fleet without releases gets its ApplicationSets there, too. It builds the fleet with
the files first, and writes them only if the fleet has no further error. It never overwrites a file.`,
		Example: `  argosy new hub --name hub-us
  argosy new hub --name hub-us --repo-url https://git.example.com/platform/fleet.git --hub-environment staging`,
	}
	hubFlags(cmd, &h, "name", "")
	cmd.Flags().Lookup("repo-url").Usage += " (default that of another hub)"
	cmd.Flags().Lookup("revision").Usage += " (default that of another hub)"
	return draft.Command(o.write, cmd, &h, scaffold.NewHub, "name")
}
