package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newTenant(o *options) *cobra.Command {
	var t scaffold.Tenant
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "tenant --name NAME",
		Short: "Write a tenant's project in Argo CD",
		Long: `New tenant writes the Argo CD project of a tenant, in fleet/bootstrap/HUB. The tenant's Applications reach
the project's clusters and no others. It refuses a tenant that the hub has, and clusters of another tenant.`,
		Example: `  argosy new tenant --name logistics
  argosy new tenant --hub hub-eu --name logistics --cluster legacy-7 --cluster 'logistics-*'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.write(cmd, dryRun, func(r scaffold.Repository) (*scaffold.Draft, error) { return scaffold.NewTenant(cmd.Context(), r, t) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&t.Tenant, "name", "", "the tenant's name")
	flags.StringVar(&t.Hub, "hub", "", "the hub; may be left out if the fleet has one")
	flags.StringArrayVar(&t.ClusterPatterns, "cluster", nil, "a cluster's `name`, with * for any text; may be repeated (default NAME-*)")
	dryRunFlag(cmd, &dryRun)
	_ = cmd.MarkFlagRequired("name")
	o.completeFleet(cmd, "hub", hubs)
	return cmd
}
