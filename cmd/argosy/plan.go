package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/change/report/planreport"
)

func newPlan(o *options) *cobra.Command {
	var q pipeline.Question
	var charts renderedCharts
	var factsFrom, instead []string
	var without noFleet
	var output string
	var exitCode, detailed, short bool
	var maxChanges int
	cmd := &cobra.Command{
		Use:     "plan --base REV",
		Short:   "Show what changes between two revisions, per cluster and Application",
		Long:    `Plan shows each cluster's changes, and why (docs/reference/cli.md#plan). Exit 1: incomplete; 2: wrong usage.`,
		Example: `  argosy plan --base origin/main                    # the folder as it is, before a commit`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if short && output != "text" {
				return problem.Usage([]string{"-o json has it as .summary"}, "--summary is for -o text; there is -o %s", output)
			}
			if err := charts.check(); err != nil {
				return err
			}
			if q.Base == "" {
				return problem.Usage([]string{"for example --base origin/main"}, "no --base given: the revision to compare with")
			}
			if cmd.Flags().Changed("max-changes") {
				if maxChanges < 0 {
					return problem.Usage(nil, "--max-changes %d: a number of changes is at least 0", maxChanges)
				}
				q.Bounds.MaxChanges = &maxChanges
			}
			if len(q.Bounds.NewCluster) > 0 && q.Hub != "" {
				return problem.Usage(nil, "--only-new-cluster is about all hubs; there is --hub %s", q.Hub)
			}
			var err error
			if q.Facts, err = factsfile.Read(factsFrom); err != nil {
				return err
			}
			shown := newProgress(cmd.ErrOrStderr())
			defer shown.Done()
			shown.Say("reading the revisions")
			pipelines, done, err := charts.pipelines(cmd.Context(), o, instead, without, q.Facts)
			if err != nil {
				return err
			}
			defer done()
			q.Progress = func(hub string, objects int) { shown.Say("%s: %d objects", hub, objects) }
			p, err := pipelines.Plan(cmd.Context(), q)
			shown.Done()
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch output {
			case "json", "yaml":
				err = writeData(w, output, p)
			case "markdown":
				err = planreport.WriteMarkdown(report.PrintableWriter{W: w}, p, planreport.MaxMarkdown)
			case "html":
				err = planreport.WriteHTML(w, p)
			case "approval":
				if p.Guard.Approval == nil {
					return &problem.Failure{Findings: true, Err: errors.New("nothing to approve: the removals are within the removal budget")}
				}
				err = planreport.WriteApproval(w, p.Guard.Approval)
			default:
				err = paged(cmd, func(w io.Writer, s report.Style) error { return planreport.Write(w, p, s, short) })
			}
			if err != nil {
				return err
			}
			if err := pipeline.BeyondBounds(p); err != nil {
				return err
			}
			return planStatus(p, exitCode, detailed)
		},
	}
	cmd.Flags().StringVar(&q.Base, "base", "", "the `revision` to compare with (required)")
	cmd.Flags().StringVar(&q.Head, "head", "", "the `revision` to compare; default: the folder as it is, or the HEAD of a bare repository")
	cmd.Flags().StringVar(&q.Bounds.OnlyTeam, "only-team", "", "end with status 1 if anything changes but applications of this `team`")
	cmd.Flags().StringSliceVar(&q.Bounds.NewCluster, "only-new-cluster", nil, "end with status 1 unless all that happens is one new cluster of these classes, `CLASS,...`; "+pipeline.Existing+" is one that the hub does not make")
	cmd.Flags().IntVar(&maxChanges, "max-changes", -1, "end with status 1 if there are more changes; default: any number")
	cmd.Flags().StringArrayVar(&o.repo.MountBase, "mount-base", nil, "the revision of a mount's folder that the base has: `PATH=REV`, may be repeated")
	cmd.Flags().StringVar(&q.Hub, "hub", "", "show only this hub")
	factsFlag(cmd, &factsFrom)
	without.flags(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with status 1 if there are changes")
	cmd.Flags().BoolVar(&detailed, "detailed-exit-code", false, "end with status 3 if there are changes, 4 if there are removals beyond the budget")
	charts.flags(cmd)
	revisionFlag(cmd, &instead, "charts")
	cmd.Flags().BoolVar(&short, "summary", false, "count what changes on each hub, and do not list it")
	outputFlag(cmd, &output, "text", "json", "yaml", "markdown", "html", "approval")
	o.completeFleet(cmd, "hub", hubs)
	o.completeRevisions(cmd, "base", "head")
	return cmd
}

// planStatus returns nil, or an error with the exit status of plan.
func planStatus(p planreport.Plan, exitCode, detailed bool) error {
	status := exitGood
	switch {
	case p.Incomplete():
		status = exitFindings
	case detailed && p.Guard.Over():
		status = exitRemovals
	case detailed && p.Changes():
		status = exitChanges
	case exitCode && p.Changes():
		status = exitFindings
	}
	if status == exitGood {
		return nil
	}
	return &quiet{status}
}
