package main

import (
	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/change/scaffold"
)

func newMove(o *options) *cobra.Command {
	return parent(&cobra.Command{
		Use:     "move",
		Short:   "Move parts of the fleet",
		Example: "  argosy move app checkout-api --from payments-dev-eu-1 --to payments-staging-eu-1",
	}, newMoveApp(o))
}

func newMoveApp(o *options) *cobra.Command {
	var m scaffold.Move
	cmd := &cobra.Command{
		Use:   "app NAME [--from CLUSTER] [--to CLUSTER]",
		Short: "Add, update, remove or move a team's application on a cluster",
		Long: `Move app sets the clusters of a team's application, in the catalog files of these clusters' own levels. It
edits them in place: comments, order and everything else stay.

  --to C             moves it to C from the one cluster that has it; where none has it, adds it
  --to C --keep      adds it to C
  --to C --version V sets its version on C
  --to C --from D    moves it from D to C
  --from D           removes it from D

The cluster that loses it removes its workloads. The command refuses a cluster that is not the team's.`,
		Example: `  argosy move app checkout-api --to payments-staging-eu-1
  argosy move app checkout-api --to payments-staging-eu-1 --keep --version v1.4.0
  argosy move app checkout-api --from payments-dev-eu-1`,
		Args:   cobra.ExactArgs(1),
		PreRun: func(_ *cobra.Command, args []string) { m.Name = args[0] },
	}
	flags := cmd.Flags()
	flags.StringVar(&m.To, "to", "", "the `cluster` that gets it")
	flags.StringVar(&m.From, "from", "", "the `cluster` that loses it")
	flags.BoolVar(&m.Keep, "keep", false, "with --to: no other cluster loses it")
	flags.StringVar(&m.Version, "version", "", "with --to: its version there")
	for _, flag := range []string{"to", "from"} {
		o.completeFleet(cmd, flag, allClusters)
	}
	return draftCommand(o, cmd, &m, scaffold.MoveApp)
}
