package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/report"
	"github.com/argosy-hub/argosy/internal/report/approval"
	"github.com/argosy-hub/argosy/internal/report/planreport"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
)

func newPlan(o *options) *cobra.Command {
	var q planQuestion
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
			if err := checkChoice("output", output, "text", "json", "markdown", "approval"); err != nil {
				return err
			}
			if err := q.charts.check(); err != nil {
				return err
			}
			if q.base == "" {
				return usageError([]string{"for example --base origin/main"}, "no --base given: the revision to compare with")
			}
			p, err := o.plan(cmd, q)
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
					return &failure{status: exitFindings, err: errors.New("nothing to approve: what is removed is within the removal budget")}
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
	cmd.Flags().StringVar(&q.base, "base", "", "the `revision` to compare with (required)")
	cmd.Flags().StringVar(&q.head, "head", "", "the `revision` to compare; the default is the folder as it is, and of a bare repository its HEAD")
	cmd.Flags().StringVar(&q.hub, "hub", "", "show this hub alone")
	factsFlag(cmd, &q.facts)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with status 1 if there are changes")
	cmd.Flags().BoolVar(&detailed, "detailed-exit-code", false, "end with status 3 if there are changes, 4 if there are removals beyond the budget")
	q.charts.flags(cmd)
	revisionFlag(cmd, &q.instead, "charts")
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

// planQuestion is what plan is asked.
type planQuestion struct {
	base, head, hub string
	facts, instead  []string
	charts          renderedCharts
}

func (o *options) plan(cmd *cobra.Command, q planQuestion) (planreport.Plan, error) {
	ctx := cmd.Context()
	f, err := readFacts(q.facts)
	if err != nil {
		return planreport.Plan{}, err
	}
	expansion, err := o.newExpansion(ctx, q.instead, cmd.ErrOrStderr())
	if err != nil {
		return planreport.Plan{}, err
	}
	before, err := git.Revision(ctx, o.repo, q.base, charts)
	if err != nil {
		return planreport.Plan{}, revisionError("--base", err)
	}
	var after *snapshot.Snapshot
	if q.head == "" {
		if q.head, err = o.revision(); err != nil {
			return planreport.Plan{}, err
		}
	}
	if q.head == "" {
		after, err = o.snapshotOf(ctx, charts)
	} else if after, err = git.Revision(ctx, o.repo, q.head, charts); err != nil {
		err = revisionError("--head", err)
	}
	if err != nil {
		return planreport.Plan{}, err
	}
	base := planreport.Revision{Name: q.base, Revision: before.Revision}
	head := planreport.Revision{Name: q.head, Revision: after.Revision}
	expansion.only = q.hub
	done, err := q.charts.extend(ctx, &expansion)
	if err != nil {
		return planreport.Plan{}, err
	}
	defer done()
	found, err := comparePlan(before, after, f, expansion)
	if err != nil {
		return planreport.Plan{}, planError(err, base, head)
	}
	if err := found.restrict(q.hub); err != nil {
		return planreport.Plan{}, err
	}
	out := planreport.New(base, head, found.plan)
	out.AddProblems(plan.Head, found.head)
	out.AddProblems(plan.Base, found.base)
	expires := time.Now().UTC().AddDate(0, 0, approvalDays).Format(time.DateOnly)
	out.Guard = planreport.NewGuard(found.plan, found.foreseen.all, guard.Approval(found.foreseen.all, found.foreseen.after), expires)
	return out, nil
}

// restrict leaves one hub alone, if one was asked for.
func (c *compared) restrict(hub string) error {
	if hub == "" {
		return nil
	}
	var names []string
	for _, h := range c.plan.Hubs {
		names = append(names, h.Name)
	}
	if !slices.Contains(names, hub) {
		return usageError(problem.Nearest(hub, names), "hub %q has no member files in either revision", hub)
	}
	c.plan.Hubs = slices.DeleteFunc(c.plan.Hubs, func(h plan.Hub) bool { return h.Name != hub })
	c.plan.Broken = slices.DeleteFunc(c.plan.Broken, func(b plan.Broken) bool { return b.Hub != hub })
	c.foreseen.all = slices.DeleteFunc(c.foreseen.all, func(f guard.Foreseen) bool { return f.Hub != hub })
	return nil
}

// approvalDays is how long an approval is good for that plan writes.
const approvalDays = 7

// foreseen is what the guard would do.
type foreseen struct {
	all   []guard.Foreseen
	after *fleet.Fleet
}

// asked leaves out what is foreseen of grants where the hub's roots are known, and none delivers any.
func (f *foreseen) asked(h *expand.Hub) {
	if roots := h.Roots(); len(roots) == 0 || h.Asks(generator.Grants) {
		return
	}
	f.all = slices.DeleteFunc(f.all, func(x guard.Foreseen) bool { return x.Hub == h.Name() && x.View == generator.Grants })
}

// planError is the failure of a revision with errors: its problems, and whose they are.
func planError(err error, base, head planreport.Revision) error {
	out := &failure{status: exitFindings, err: err, hints: []string{fmt.Sprintf("there is no plan until these errors of the head, %s, are mended", head)}}
	var state *plan.StateError
	if errors.As(err, &state) && state.Base {
		out.hints = []string{fmt.Sprintf("these are errors of the base, %s: choose a base without", base)}
	}
	var unavailable *generator.Error
	if errors.As(err, &unavailable) {
		out.problems = unavailable.Problems
	} else {
		out.problems = problem.From(state.Err, problem.InvalidLayout, problem.Pos{})
	}
	return out
}

func revisionError(flag string, err error) error {
	var e *source.Error
	if !errors.As(err, &e) {
		return usageError(nil, "%s: %w", flag, err)
	}
	var hints []string
	if e.Hint != "" {
		hints = []string{e.Hint}
	}
	if e.Reason == source.NotFound || e.Reason == source.InvalidOptions {
		hints = []string{"--repo takes the root folder of a clone; revisions are read from its Git repository"}
	}
	return usageError(hints, "%s: %s: %s", flag, e.Source, e.Detail)
}
