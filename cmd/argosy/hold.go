package main

import (
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/fleet"
)

func newHold(o *options) *cobra.Command {
	h := scaffold.Hold{Now: time.Now()}
	cmd := &cobra.Command{
		Use:   "hold CLUSTER... COMPONENT... --until DAY --reason TEXT",
		Short: "Keep components of clusters as they are until a day",
		Long: `Hold writes a file into fleet/holds: the components stay on the clusters as they are, whatever later commits
say, until the end of the day. A component is GROUP/COMPONENT, 'GROUP/*' or '*'; the registration of a cluster is
fleet/fleet-secret. The hold begins when the file is merged. It ends by itself, or when the file goes.`,
		Example: `  argosy hold retail-prod-eu-1 addons/ingress-nginx --until 2026-12-24 --reason CHG-4711 --owner team-platform
  argosy hold retail-prod-eu-1 retail-prod-eu-2 'addons/*' --until 2026-12-24 --reason 'frozen until the audit' --name audit`,
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if strings.Contains(arg, "/") || arg == fleet.Any {
					h.Components = append(h.Components, arg)
				} else {
					h.Clusters = append(h.Clusters, arg)
				}
			}
			if len(h.Clusters) == 0 || len(h.Components) == 0 {
				return problem.Usage([]string{"for example argosy hold retail-prod-eu-1 addons/ingress-nginx"}, "hold takes at least one cluster and one component")
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if h.Owner != "" {
				return nil
			}
			out, _ := exec.CommandContext(cmd.Context(), "git", "-C", o.repo.Location, "config", "user.email").Output() //nolint:gosec // the user's own folder
			if h.Owner = strings.TrimSpace(string(out)); h.Owner == "" {
				return problem.Usage([]string{"nothing was written"}, "--owner is missing: the team or the person to ask; git has no user.email")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			st, err := o.state(cmd.Context(), nil)
			if err != nil || len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeExplain(st, "", args, prefix), cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&h.Until, "until", "", "the last `day` of the hold, such as 2026-12-24; at most 366 days ahead")
	flags.StringVar(&h.TimeZone, "time-zone", "", "where the day ends, such as Europe/Berlin (default UTC)")
	flags.StringVar(&h.Reason, "reason", "", "why, for whoever meets the hold")
	flags.StringVar(&h.Owner, "owner", "", "the team or the person to ask (default git's user.email)")
	flags.StringVar(&h.Name, "name", "", "the name of the file (default CLUSTER-COMPONENT, of the first ones)")
	return draftCommand(o, cmd, &h, scaffold.NewHold, "until", "reason")
}
