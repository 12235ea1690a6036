package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/cmd/argosy/draft"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newTeam(o *options) *cobra.Command {
	var t scaffold.Team
	cmd := &cobra.Command{
		Use:   "team --name NAME --tenant TENANT --owner GROUP --repository URL",
		Short: "Write the file of a team",
		Long: `New team writes the file of a team, fleet/teams/NAME.yaml: who owns it, on which of its tenant's clusters it
is, in which namespaces, and from where it may deploy. It builds the fleet with the file first, and
refuses a namespace that is another's.`,
		Example: `  argosy new team --name checkout --tenant payments --owner payments-checkout --repository https://git.example.com/checkout/app
  argosy new team --name checkout --tenant payments --owner payments-checkout --viewer payments --clusters environment=dev \
      --namespace checkout --namespace checkout-cards=isolated --repository 'https://git.example.com/checkout/*'`,
	}
	flags := cmd.Flags()
	flags.StringVar(&t.Name, "name", "", "the team's name, also the file's")
	flags.StringVar(&t.Tenant, "tenant", "", "whose team it is")
	flags.StringArrayVar(&t.Owners, "owner", nil, "a `group` of the identity provider that owns the team; may be repeated")
	flags.StringArrayVar(&t.Viewers, "viewer", nil, "a `group` that may look; may be repeated")
	flags.StringVar(&t.Selector, "clusters", "", "the tenant's clusters by `labels` of their files, as for kubectl (default all)")
	flags.StringArrayVar(&t.Namespaces, "namespace", nil, "a namespace, `NAME or NAME=PRESET`; may be repeated (default the team's name)")
	flags.StringVar(&t.Preset, "preset", "small", "the preset of namespaces without one")
	flags.StringArrayVar(&t.Repositories, "repository", nil, "a repository's `URL`, with * for any text after the host; may be repeated")
	o.completeFleet(cmd, "tenant", func(st *fleetstate.State) []string {
		return identities(st, func(m *fleet.Member) string { return m.Tenant })
	})
	return draft.Command(o.write, cmd, &t, scaffold.NewTeam, "name", "tenant", "owner", "repository")
}
