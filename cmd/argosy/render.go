package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

func newRender(o *options) *cobra.Command {
	var q pipeline.RenderQuestion
	var out string
	var factsFrom, instead []string
	var without noFleet
	cmd := &cobra.Command{
		Use:   "render --hub HUB --out DIR",
		Short: "Write the objects of a hub's pipeline as static files",
		Long: `Render follows the pipeline of a hub to its end, as plan does, and writes its objects: the Applications, and
other objects of the roots (projects). They equal the plugin's. Use them for an Argo CD without plugins, as
Amazon EKS's managed one, and for reviews in a branch of rendered files. For Flux, they are the objects of
its artifact.

With --form applicationsets, render writes Applications as ApplicationSets with a list generator, one for
each ApplicationSet that makes them, with its policy and its rollout steps. With --form pipeline, it writes
everything: the roots and all ApplicationSets and Applications, each as the API server gets it. Use it to
compare with a hub or another revision; applied, each Application would have two owners.

Render writes the folder completely or not at all. With any error, such as facts that name only other hubs'
clusters, it writes nothing, and the exit status is 1. It replaces only a folder that render wrote, or an
empty one. It works in a folder .argosy-new-* beside it, which a killed render leaves.`,
		Example: `  argosy render --hub hub-eu --out rendered/hub-eu
  argosy render --hub hub-eu --out rendered/hub-eu --form applicationsets --revision release-next=origin/release-next`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return problem.Usage([]string{"for example --out rendered"}, "no --out given: the folder to write")
			}
			var err error
			if q.Facts, err = factsfile.Read(factsFrom); err != nil {
				return err
			}
			options := pipeline.Options{Repository: o.repo, Tools: o.tools(), Instead: instead}
			if err := without.of(cmd.Context(), &options, q.Facts); err != nil {
				return err
			}
			pipelines, err := pipeline.New(cmd.Context(), options)
			if err != nil {
				return err
			}
			files, err := pipelines.Render(cmd.Context(), q)
			if err != nil {
				return err
			}
			if err := disk.WriteFolder(out, files); err != nil {
				return problem.Usage([]string{"nothing was written"}, "%w", err)
			}
			fmt.Fprintf(report.PrintableWriter{W: cmd.OutOrStdout()}, "%s: %d files\n", out, len(files))
			return nil
		},
	}
	cmd.Flags().StringVar(&q.Hub, "hub", "", "the hub; the default is the fleet's only one")
	cmd.Flags().StringVar(&q.Owner, "owner", fleet.OwnerHub, "whose engine it is for: hub, or a member's name")
	cmd.Flags().StringVar(&out, "out", "", "the `folder` to write (required)")
	choiceFlag(cmd, &q.Form, "form", "", "what to write: ", pipeline.Forms...)
	factsFlag(cmd, &factsFrom)
	without.flags(cmd)
	revisionFlag(cmd, &instead, "charts")
	o.completeFleet(cmd, "hub", hubs)
	o.completeFleet(cmd, "owner", func(st *fleetstate.State) []string { return append([]string{"hub"}, clusters(st, q.Hub)...) })
	return cmd
}
