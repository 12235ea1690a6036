package main

import "github.com/spf13/cobra"

func newNew(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "new",
		Short:   "Write a new file of the repository",
		Example: "  argosy new member --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod --label region=eu-west-1",
		Args:    noCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMember(o))
	return cmd
}
