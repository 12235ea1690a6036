package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/cmd/argosy/draft"
	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newTenant(o *options) *cobra.Command {
	var t scaffold.Tenant
	cmd := &cobra.Command{
		Use:   "tenant --name NAME",
		Short: "Write a tenant's project in Argo CD",
		Long: `New tenant writes the Argo CD project of a tenant, in fleet/bootstrap/HUB. The tenant's Applications reach
the project's clusters and no others. It refuses a tenant that the hub has, and clusters of another tenant.`,
		Example: `  argosy new tenant --name logistics
  argosy new tenant --hub hub-eu --name logistics --cluster legacy-7 --cluster 'logistics-*'`,
	}
	flags := cmd.Flags()
	flags.StringVar(&t.Tenant, "name", "", "the tenant's name")
	flags.StringVar(&t.Hub, "hub", "", "the hub; may be left out if the fleet has one")
	flags.StringArrayVar(&t.ClusterPatterns, "cluster", nil, "a cluster's `name`, with * for any text; may be repeated (default NAME-*)")
	o.completeFleet(cmd, "hub", hubs)
	return draft.Command(o.write, cmd, &t, scaffold.NewTenant, "name")
}
