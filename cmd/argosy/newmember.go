package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/cmd/argosy/draft"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newMember(o *options) *cobra.Command {
	var m scaffold.Member
	cmd := &cobra.Command{
		Use:   "member --hub HUB --name NAME --tenant TENANT",
		Short: "Write the file that registers a cluster",
		Long: `New member writes the file that registers a cluster, at the path of the repository's layout. It builds the
fleet with the file first, and writes it only if the fleet has no further error. It never overwrites a file.

Afterwards it names the components that the cluster would get.`,
		Example: `  argosy new member --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod \
      --secret hub-eu/retail-prod-eu-3 --label region=eu-west-1
  argosy new member --hub hub-eu --name payments-prod-eu-2 --tenant payments --environment prod \
      --secret hub-eu/payments-prod-eu-2 --label region=eu-west-1 --agent argocd --enable-remote addons,resources
  argosy new member --hub hub-ap --name hub-ap --tenant platform --environment prod --label region=ap-south-1 --hub-cluster
  argosy new member --hub hub-eu --name try --tenant retail --environment dev --label region=eu-west-1 --dry-run`,
	}
	o.memberFlags(cmd, &m)
	flags := cmd.Flags()
	flags.BoolVar(&m.HubCluster, "hub-cluster", false, "the file describes the hub itself")
	flags.StringVar(&m.Secret, "secret", "", "`name` or ARN of its credential in the secret store")
	flags.StringVar(&m.GitHubSecret, "github-secret", "", "`name` of the repository credentials in the secret store")
	return draft.Command(o.write, cmd, &m, scaffold.NewMember, "hub", "name", "tenant")
}

// memberFlags are what each file of a member needs, with their completions.
func (o *options) memberFlags(cmd *cobra.Command, m *scaffold.Member) {
	flags := cmd.Flags()
	flags.StringVar(&m.Hub, "hub", "", "the hub that manages the cluster")
	flags.StringVar(&m.Name, "name", "", "the cluster's name, also the file's")
	flags.StringVar(&m.Tenant, "tenant", "", "whose cluster it is")
	flags.StringVar(&m.Environment, "environment", "", "its environment, for example dev, staging or prod; none has no level and no label of it")
	flags.StringVar(&m.Agent, "agent", "", "the cluster has an engine of its own: argocd or flux")
	flags.StringSliceVar(&m.EnableRemote, "enable-remote", nil, "with --agent: the `groups` that the cluster's engine owns")
	flags.StringArrayVar(&m.Labels, "label", nil, "a label of the cluster, `key=value`; may be repeated")
	flags.StringArrayVar(&m.Annotations, "annotation", nil, "an annotation of the cluster, `key=value`; may be repeated")
	complete(cmd, "agent", func() []string { return scaffold.Engines })
	o.completeFleet(cmd, "hub", hubs)
	o.completeFleet(cmd, "enable-remote", groups)
	o.completeFleet(cmd, "tenant", func(st *fleetstate.State) []string {
		return identities(st, func(m *fleet.Member) string { return m.Tenant })
	})
	o.completeFleet(cmd, "environment", func(st *fleetstate.State) []string {
		return identities(st, func(m *fleet.Member) string { return m.Environment })
	})
}

func identities(st *fleetstate.State, of func(*fleet.Member) string) []string {
	var out []string
	for _, h := range hubs(st) {
		for _, m := range st.Fleet.Members(h) {
			out = append(out, of(m))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
