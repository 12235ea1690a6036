package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/factsfile"
	"github.com/argosy-hub/argosy/internal/failure"
	"github.com/argosy-hub/argosy/internal/planner"
	"github.com/argosy-hub/argosy/internal/report"
	"github.com/argosy-hub/argosy/internal/report/approval"
	"github.com/argosy-hub/argosy/internal/report/planreport"
)

func newPlan(o *options) *cobra.Command {
	var q planner.Question
	var charts renderedCharts
	var factsFrom, instead []string
	var output string
	var exitCode, detailed bool
	cmd := &cobra.Command{
		Use:   "plan --base REV",
		Short: "Show what changes between two revisions, per cluster and Application",
		Long: `Plan compares two revisions of the repository and shows, for each cluster, which Applications are
created, changed, moved to another release or owner, or removed, and why; and for each changed value
the old and the new one and the places that set them. Changes that are the same on several clusters
are shown once. What stays the same is only counted.

A revision is whatever Git takes for a commit: a branch, a tag, HEAD~1, origin/main. It is read from
Git's objects; the working tree is not touched. Without --head, the base is compared with the folder
as it is, uncommitted changes included; in a bare repository with its HEAD, or with --ref.

Where the change would remove more than the removal budget allows (layout: guard.maxRemovals), plan
says which answers the service would refuse, and prints a file that approves them; -o approval prints
that file alone.

Plan follows the pipeline to its end, offline, as Argo CD would: the roots of fleet/bootstrap/HUB,
the ApplicationSets, the Applications that they make, and the charts of this repository that those
deploy. Generators are followed that ask the plugin, list, or read this repository by Git, and matrices
and merges of those. What changes there though no answer of the plugin does (a root's template, a chart's) is shown
with the file that it comes from, and so is the order in which ApplicationSets with steps sync what
changes. A chart of this repository at another revision is read from the clone; --revision NAME=REV
takes another revision for it.

Charts from elsewhere, of Helm repositories, OCI registries and other Git repositories, are compared by
name, version and values. With --render they are fetched and rendered at both revisions, where an
Application, or a HelmRelease of a member's own Flux, changes, and what they make is compared: objects
of all charts then, also where values alone change; and so are folders of manifests in other Git
repositories. Value files of other Git repositories, and at URLs, are read; dependencies that are not
in a chart's folder are fetched. What is fetched is kept in the folder --chart-cache: a version and a
commit are fetched once, and beyond 2 GiB what has not been used for longest is removed. --offline
renders what is there and fetches nothing. Credentials are those of Helm and Docker (repositories.yaml,
the registry config and Docker's), and for Git those of git: credential helpers, keys of ssh. Nobody is
asked for any. Charts are rendered as for a cluster of --kube-version that has --api-versions, which
Argo CD finds out of each cluster. A chart that cannot be fetched or rendered is named, and the exit
status is 1.

With the facts of a live hub (argosy facts export), a member that begins counts as registered at the
head, and what Git declared for a cluster Secret, and declares no more, as gone from there.

A member that cannot be computed keeps what it has, and the plan says so; everything else is shown.
So is what fails or cannot be followed.

Exit status: 0, or 1 if something fails so that the plan lacks it, or 2 if there is no plan. With
--exit-code it is also 1 if there are changes. With --detailed-exit-code it is 0 without changes, 3
with changes, 4 with removals beyond the removal budget, and 1 and 2 as before.

A release's new version is one change of the release, unless its chart is in this repository.`,
		Example: `  argosy plan --base origin/main                    # before a commit
  argosy plan --base origin/main --head HEAD -o markdown > comment.md
  argosy plan --base origin/main --render           # and what charts from elsewhere make of it
  argosy plan --base v1.4.0 --head v1.5.0 --hub hub-eu
  argosy plan --base origin/main -o approval > fleet/approvals/cleanup.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := failure.CheckChoice("output", output, "text", "json", "markdown", "approval"); err != nil {
				return err
			}
			if err := charts.check(); err != nil {
				return err
			}
			if q.Base == "" {
				return failure.Usage([]string{"for example --base origin/main"}, "no --base given: the revision to compare with")
			}
			var err error
			if q.Facts, err = factsfile.Read(factsFrom); err != nil {
				return err
			}
			pipelines, done, err := charts.pipelines(cmd.Context(), o.repo, instead)
			if err != nil {
				return err
			}
			defer done()
			shown := newProgress(cmd.ErrOrStderr())
			q.Progress = shown.show
			p, err := pipelines.Plan(cmd.Context(), q)
			shown.done()
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch output {
			case "json":
				err = report.WriteJSON(w, p)
			case "markdown":
				err = planreport.WriteMarkdown(w, p, planreport.MaxMarkdown)
			case "approval":
				if p.Guard.Approval == nil {
					return &failure.Error{Findings: true, Err: errors.New("nothing to approve: the removals are within the removal budget")}
				}
				err = approval.Write(w, p.Guard.Approval)
			default:
				err = planreport.Write(w, p, styleOf(w))
			}
			if err != nil {
				return err
			}
			return planStatus(p, exitCode, detailed)
		},
	}
	cmd.Flags().StringVar(&q.Base, "base", "", "the `revision` to compare with (required)")
	cmd.Flags().StringVar(&q.Head, "head", "", "the `revision` to compare; the default is the folder as it is, and of a bare repository its HEAD")
	cmd.Flags().StringVar(&q.Hub, "hub", "", "show this hub alone")
	factsFlag(cmd, &factsFrom)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with status 1 if there are changes")
	cmd.Flags().BoolVar(&detailed, "detailed-exit-code", false, "end with status 3 if there are changes, 4 if there are removals beyond the budget")
	charts.flags(cmd)
	revisionFlag(cmd, &instead, "charts")
	outputFlag(cmd, &output, "text", "json", "markdown", "approval")
	o.completeFleet(cmd, "hub", hubs)
	return cmd
}

// planStatus is how plan ends.
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
