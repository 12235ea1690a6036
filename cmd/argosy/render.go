package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/atomicfile"
	"github.com/argosy-hub/argosy/internal/factsfile"
	"github.com/argosy-hub/argosy/internal/failure"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/planner"
)

func newRender(o *options) *cobra.Command {
	var q planner.RenderQuestion
	var out string
	var factsFrom, instead []string
	cmd := &cobra.Command{
		Use:   "render --hub HUB --out DIR",
		Short: "Write what a hub's pipeline comes to as static files",
		Long: `Render follows the pipeline of a hub to its end, as plan does, and writes what comes out: the
Applications, and what stands beside the roots (projects). It is for an Argo CD that has no plugins,
as Amazon EKS's managed one, and for reviews in a branch of rendered files. They equal what the
plugin makes; ApplicationSets, and the Applications that only bring those, are left out. For an engine
that is Flux, a member's or the hub's own, they are the objects that its artifact holds.

With --form applicationsets, Applications are written as ApplicationSets with a list for a generator,
one for each that makes them otherwise: with its policy, and its steps of a rollout.

With --form pipeline nothing is left out: the roots, and all ApplicationSets and Applications that they
come to, each as the API server gets it and Applications in folders by what makes them. That is for
comparing, with a hub or with another revision; whoever applied it would have two owners for each
Application.

The folder is written as a whole or not at all: with errors, or a chart of this repository that cannot
be read, nothing is written and the exit status is 1. A folder that render has written before is
replaced; any other that is not empty is refused. It is made beside it, in a folder .argosy-new-*; what
a render that was killed has left of it, the next one to the same folder removes.`,
		Example: `  argosy render --hub hub-eu --out rendered/hub-eu
  argosy render --hub hub-eu --out rendered/hub-eu --form applicationsets --revision release-next=origin/release-next`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := failure.CheckChoice("form", q.Form, planner.Forms...); err != nil {
				return err
			}
			if out == "" {
				return failure.Usage([]string{"for example --out rendered"}, "no --out given: the folder to write")
			}
			var err error
			if q.Facts, err = factsfile.Read(factsFrom); err != nil {
				return err
			}
			pipelines, err := planner.New(cmd.Context(), planner.Options{Repository: o.repo, Tools: tools(), Instead: instead})
			if err != nil {
				return err
			}
			files, err := pipelines.Render(cmd.Context(), q)
			if err != nil {
				return err
			}
			if err := atomicfile.WriteFolder(out, files); err != nil {
				return failure.Usage([]string{"nothing was written"}, "%w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d files\n", out, len(files))
			return nil
		},
	}
	cmd.Flags().StringVar(&q.Hub, "hub", "", "the hub; the default is the fleet's only one")
	cmd.Flags().StringVar(&q.Owner, "owner", fleet.OwnerHub, "whose engine it is for: hub, or a member's name")
	cmd.Flags().StringVar(&out, "out", "", "the `folder` to write (required)")
	cmd.Flags().StringVar(&q.Form, "form", planner.FormApplications, "what to write: "+strings.Join(planner.Forms, ", "))
	factsFlag(cmd, &factsFrom)
	revisionFlag(cmd, &instead, "charts")
	complete(cmd, "form", func() []string { return planner.Forms })
	o.completeFleet(cmd, "hub", hubs)
	o.completeFleet(cmd, "owner", func(st *generator.State) []string { return append([]string{"hub"}, clusters(st, q.Hub)...) })
	return cmd
}
