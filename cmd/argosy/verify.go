package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/migrate/existing"
	"github.com/argosy-hub/argosy/internal/migrate/importer"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

func newVerify(o *options) *cobra.Command {
	from := existing.Source{Failed: "nothing was compared"}
	var hubName, against, names, output string
	var ignore []string
	cmd := &cobra.Command{
		Use:   "verify --against FILE | --context HUB",
		Short: "Compare the Applications that Argosy makes with the live ones",
		Long: `Verify compares, field by field, the Applications that a hub's pipeline makes with the live ones: in a
file or folder of exported ones, or on a live hub. It compares what Argo CD deploys: value files, values
and parameters count as the values that Helm merges of them. Names, labels and annotations do not count.

Verify matches Applications by --names, by their name, or by their cluster and chart. Each difference has
the file and line that cause it.

Exit status 0: all are equal. 1: something differs. 2: nothing could be compared.`,
		Example: `  kubectl get applications -n argocd -o yaml > live.yaml
  argosy verify --against live.yaml --from ../old-repository --clusters secrets.yaml
  argosy verify --context hub-eu --from ../old-repository --ignore root -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (against == "") == (from.Context == "") {
				return problem.Usage([]string{"for example --against live.yaml (kubectl get applications -n argocd -o yaml)"}, "give one of --against and --context: where the live Applications are")
			}
			shown := newProgress(cmd.ErrOrStderr())
			defer shown.Done()
			shown.Say("reading the live Applications")
			live, err := from.ReadApplications(cmd.Context(), against)
			if err != nil {
				return err
			}
			q, err := o.question(cmd.Context(), &from, shown, hubName, names, live)
			if err != nil {
				return err
			}
			q.Live, q.Ignore = live, ignore
			shown.Say("comparing %d Applications", len(live))
			v, err := verify.Verify(q)
			if err != nil {
				return problem.Usage(nil, "%w", err)
			}
			shown.Done()
			if output == "text" {
				err = paged(cmd, func(w io.Writer, _ report.Style) error { return v.WriteText(report.PrintableWriter{W: w}) })
			} else {
				err = writeData(cmd.OutOrStdout(), output, v)
			}
			if err == nil && !v.IsEqual() {
				return &quiet{exitFindings}
			}
			return err
		},
	}
	existingFlags(cmd, &from)
	cmd.Flags().StringVar(&hubName, "hub", "", "the hub; the default is the fleet's only one")
	cmd.Flags().StringVar(&against, "against", "", "a `file` or folder of exported Applications (kubectl get applications -o yaml)")
	cmd.Flags().StringVar(&names, "names", "", "a `file` that maps names of live Applications to Argosy's names")
	cmd.Flags().StringArrayVar(&ignore, "ignore", nil, "the `name` of a live Application to leave out; may be repeated")
	outputFlag(cmd, &output, "text", "json", "yaml")
	o.completeFleet(cmd, "hub", hubs)
	return cmd
}

// question makes the fleet's Applications, to compare them with the live ones.
func (o *options) question(ctx context.Context, from *existing.Source, shown *report.Progress, hubName, names string, live []verify.Live) (q verify.Question, err error) {
	if q.Names, err = verify.ReadNames(names); err != nil {
		return q, err
	}
	shown.Say("reading the repositories and the clusters")
	if q.Reader, err = o.reader(ctx, from, live); err != nil {
		return q, err
	}
	known, err := factsfile.Read(from.Facts)
	if err != nil {
		return q, err
	}
	pipelines, err := pipeline.New(ctx, pipeline.Options{Repository: o.repo, Tools: o.tools()})
	if err != nil {
		return q, err
	}
	shown.Say("making the Applications of the fleet")
	q.State, q.Argosy, err = pipelines.Objects(ctx, pipeline.RenderQuestion{Hub: hubName, Owner: fleet.OwnerHub, Form: pipeline.FormApplications, Facts: known}, "nothing was compared")
	if err != nil {
		return q, err
	}
	if q.Hub = hubName; q.Hub == "" {
		if q.Hub, err = pipeline.OnlyHub(q.State); err != nil {
			return q, err
		}
	}
	q.Reader.Hub = q.Hub
	return q, nil
}

// reader returns a reader of Applications of both sides. It takes the servers of clusters from a
// live hub's ApplicationSets or, if it may not list them, from --clusters.
func (o *options) reader(ctx context.Context, from *existing.Source, live []verify.Live) (*verify.Reader, error) {
	repositories, err := from.Open(ctx)
	if err != nil {
		return nil, err
	}
	clusters, err := from.ReadClusters(ctx)
	if err != nil {
		return nil, err
	}
	if from.Context != "" {
		sets := func() ([]*snapshot.File, error) { return from.ReadApplicationSets(ctx, nil, true) }
		if known, err := importer.Servers(importer.Options{Repositories: repositories, Clusters: clusters, Tools: o.tools()}, live, sets); err == nil {
			clusters = known
		}
	}
	return &verify.Reader{Normalize: o.tools().ApplicationSets.Normalize, SetParameters: helm.SetParameters, Repositories: repositories, Clusters: clusters}, nil
}
