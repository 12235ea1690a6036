package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/cmd/argosy/draft"
	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/provision"
	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newCluster(o *options) *cobra.Command {
	var m scaffold.Member
	cmd := &cobra.Command{
		Use:   "cluster --class CLASS --version VERSION --hub HUB --name NAME --tenant TENANT",
		Short: "Write the file of a cluster that the hub makes",
		Long: `New cluster writes the member file of a cluster that the hub provisions: one file says what the cluster is,
registers it and places it in the hierarchy. It builds the fleet with the file first, and refuses a class
that is not offered, a version that the class does not offer, and a second cluster of a name.

After the merge the hub makes the cluster, registers it by the kubeconfig that the class writes, and
deploys the components that the command names.`,
		Example: `  argosy new cluster --class eks-kro --version 1.33 --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod --label region=eu-west-1 \
      --account 111122223333 --region eu-west-1 --input nodeCount=3`,
	}
	o.memberFlags(cmd, &m)
	flags := cmd.Flags()
	flags.StringVar(&m.Class, "class", "", "the class of the cluster, a component of the group provisioning")
	flags.StringVar(&m.Version, "version", "", "Kubernetes' `version` of the control plane")
	flags.StringVar(&m.NodesVersion, "nodes-version", "", "that of the nodes (default the control plane's)")
	flags.StringVar(&m.Account, "account", "", "the cloud account (default the class's)")
	flags.StringVar(&m.Region, "region", "", "the cloud region (default the class's)")
	flags.StringArrayVar(&m.Inputs, "input", nil, "an input of the class, `key=value`; may be repeated")
	o.completeFleet(cmd, "class", func(st *fleetstate.State) []string {
		return slices.DeleteFunc(catalog.Layers(st.Resolver().Catalogs[provision.Group]).Components(), provision.IsForNodes)
	})
	return draft.Command(o.write, cmd, &m, scaffold.NewMember, "hub", "name", "tenant", "class", "version")
}
